/* util/xml.h: finds the text of tags in small XML documents, as object stores send them.
 *
 * Not a validating parser, on purpose: stores differ in prolog, order, name spaces and attributes,
 * and a proxy may send something else altogether. Looks an element up by its local name at any
 * depth; comments, processing instructions and CDATA sections are stepped over; no entity is ever
 * expanded but the five predefined ones and character references. Bounded by the length of the
 * span. */
#ifndef S3L_UTIL_XML_H
#define S3L_UTIL_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "util/span.h"

/** Finds the next element of that local name in *rest, gives what stands between its tags (raw),
 * and moves *rest behind it. False, with *rest unchanged, where there is none that is complete. */
bool s3l_xml_next(s3l_span_t* rest, const char* name, s3l_span_t* inner);

/** Text of the first such element, decoded, blanks around it cut off, with a NUL. False, with
 * out[0] = 0, if there is none, or it does not fit, holds markup or a bad reference. */
bool s3l_xml_text(s3l_span_t doc, const char* name, char* out, size_t cap);

/** Decodes references and CDATA sections of raw text, as above. */
bool s3l_xml_decode(s3l_span_t raw, char* out, size_t cap);

#endif
