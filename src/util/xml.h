/* util/xml.h: finds the text of tags in small XML documents, as object stores send them.
 *
 * Deliberately not a validating parser: stores differ in prolog, order, name spaces and attributes,
 * and a proxy may send anything. An element is looked up by its local name at any depth; comments,
 * processing instructions and CDATA sections are skipped. Only the five predefined entities and
 * character references are expanded. */
#ifndef S3L_UTIL_XML_H
#define S3L_UTIL_XML_H

#include <stdbool.h>
#include <stddef.h>

#include "util/span.h"

/** Finds the next element of that local name in *rest, sets *inner to the raw text between its tags
 * and moves *rest behind it. False, with *rest unchanged, if no complete one is there. */
bool s3l_xml_next(s3l_span_t* rest, const char* name, s3l_span_t* inner);

/** The text of the first such element, decoded and trimmed, with a NUL. False, with out[0] = 0, if
 * there is none, it does not fit, or it holds markup or a bad reference. */
bool s3l_xml_text(s3l_span_t doc, const char* name, char* out, size_t cap);

/** Decodes raw text in the same way. */
bool s3l_xml_decode(s3l_span_t raw, char* out, size_t cap);

#endif
