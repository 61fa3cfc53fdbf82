#include "util/timefmt.h"

#include <string.h>

#include "util/buf.h"

typedef struct civil_s {
  int year;
  int month; /* 1..12 */
  int day;   /* 1..31 */
  int hour;
  int minute;
  int second;
  int ms;
  int weekday; /* 0 is Sunday */
} civil_t;

static const char* const month_names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char* const day_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};

/* Calendar arithmetic counts years from March, so that the leap day is the last day of a year; days
 * are counted from 0000-03-01, which is 719468 days before 1970-01-01. */
#define DAYS_TO_1970 719468
#define DAYS_PER_ERA 146097 /* 400 years */

static int64_t days_from_civil(int64_t year, int month, int day) {
  int64_t y = month <= 2 ? year - 1 : year;
  int64_t era = (y >= 0 ? y : y - 399) / 400;
  int64_t year_of_era = y - era * 400;
  int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

static void civil_from_days(int64_t days, civil_t* c) {
  int64_t z = days + DAYS_TO_1970;
  int64_t era = (z >= 0 ? z : z - (DAYS_PER_ERA - 1)) / DAYS_PER_ERA;
  int64_t doe = z - era * DAYS_PER_ERA;
  int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  int64_t mp = (5 * doy + 2) / 153;
  c->day = (int)(doy - (153 * mp + 2) / 5 + 1);
  c->month = (int)(mp < 10 ? mp + 3 : mp - 9);
  int64_t year = yoe + era * 400 + (c->month <= 2 ? 1 : 0);
  c->year = year >= 0 && year <= 9999 ? (int)year : -1;
  c->weekday = (int)(((days + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
}

/* False outside years 0..9999. */
static bool civil_from_ms(int64_t ms, civil_t* c) {
  int64_t days = ms / 86400000;
  int64_t rest = ms % 86400000;
  if (rest < 0) {
    rest += 86400000;
    days--;
  }
  civil_from_days(days, c);
  c->hour = (int)(rest / 3600000);
  c->minute = (int)(rest / 60000 % 60);
  c->second = (int)(rest / 1000 % 60);
  c->ms = (int)(rest % 1000);
  return c->year >= 0;
}

static int days_in_month(int64_t year, int month) {
  static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : days[month - 1];
}

static bool civil_to_ms(const civil_t* c, int64_t* ms) {
  if (c->year < 0 || c->year > 9999 || c->month < 1 || c->month > 12 || c->day < 1 ||
      c->day > days_in_month(c->year, c->month) || c->hour > 23 || c->minute > 59 || c->second > 59)
    return false;
  int64_t days = days_from_civil(c->year, c->month, c->day);
  *ms = (days * 86400 + c->hour * 3600 + c->minute * 60 + c->second) * 1000 + c->ms;
  return true;
}

/* ---- Reading: each function takes its bytes off the front of the span, or fails. ---- */

static bool take_digits(s3l_span_t* s, size_t count, int* out) {
  int v = 0;
  if (s->n < count)
    return false;
  for (size_t i = 0; i < count; i++) {
    if (s->p[i] < '0' || s->p[i] > '9')
      return false;
    v = v * 10 + (s->p[i] - '0');
  }
  s3l_span_skip(s, count);
  *out = v;
  return true;
}

/* Finds the name, or its first `size` letters, at the front of the span; *out is its index. */
static bool take_name(s3l_span_t* s, const char* const* names, int count, size_t size, int* out) {
  for (int i = 0; i < count && s->n >= 3; i++) {
    if (s->p[0] != names[i][0] || s->p[1] != names[i][1] || s->p[2] != names[i][2])
      continue; /* the first three letters tell the names apart */
    s3l_span_t name = s3l_span_cstr(names[i]);
    if (name.n > size)
      name.n = size;
    if (!s3l_span_starts_with(*s, name))
      return false;
    s3l_span_skip(s, name.n);
    *out = i;
    return true;
  }
  return false;
}

static bool take_field(s3l_span_t* s, char field, civil_t* c) {
  bool ok;
  switch (field) {
  case 'Y':
    return take_digits(s, 4, &c->year);
  case 'y':
    ok = take_digits(s, 2, &c->year);
    c->year += c->year < 70 ? 2000 : 1900;
    return ok;
  case 'm':
    return take_digits(s, 2, &c->month);
  case 'b':
    ok = take_name(s, month_names, 12, 3, &c->month);
    c->month++;
    return ok;
  case 'd':
    return take_digits(s, 2, &c->day);
  case 'e':
    return s3l_span_take(s, ' ') ? take_digits(s, 1, &c->day) : take_digits(s, 2, &c->day);
  case 'a':
    return take_name(s, day_names, 7, 3, &c->weekday);
  case 'A':
    return take_name(s, day_names, 7, SIZE_MAX, &c->weekday);
  case 'H':
    return take_digits(s, 2, &c->hour);
  case 'M':
    return take_digits(s, 2, &c->minute);
  default:
    return take_digits(s, 2, &c->second);
  }
}

/* Reads a time in a format as strftime's. */
static bool take_time(s3l_span_t* s, const char* format, civil_t* c) {
  for (; *format != '\0'; format++)
    if (*format == '%' ? !take_field(s, *++format, c) : !s3l_span_take(s, *format))
      return false;
  return true;
}

/* A fraction of 1..9 digits after its point. */
static bool take_fraction(s3l_span_t* s, int* ms) {
  int digit;
  size_t n = 0;
  for (; n < 9 && take_digits(s, 1, &digit); n++)
    if (n < 3)
      *ms = *ms * 10 + digit;
  for (size_t i = n; i < 3; i++)
    *ms *= 10;
  return n > 0;
}

/* "Z" or "+hh:mm". */
static bool take_offset(s3l_span_t* s, int* minutes) {
  civil_t c = {0};
  *minutes = 0;
  if (s3l_span_take(s, 'Z') || s3l_span_take(s, 'z'))
    return true;
  bool east = s3l_span_take(s, '+');
  if ((!east && !s3l_span_take(s, '-')) || !take_time(s, "%H:%M", &c) || c.hour > 23 ||
      c.minute > 59)
    return false;
  *minutes = (c.hour * 60 + c.minute) * (east ? 1 : -1);
  return true;
}

bool s3l_time_parse_rfc3339(s3l_span_t s, int64_t* ms) {
  civil_t c = {0};
  int offset;
  int64_t local;
  if (!take_time(&s, "%Y-%m-%d", &c) || (!s3l_span_take(&s, 'T') && !s3l_span_take(&s, 't')) ||
      !take_time(&s, "%H:%M:%S", &c) || (s3l_span_take(&s, '.') && !take_fraction(&s, &c.ms)) ||
      !take_offset(&s, &offset) || s.n > 0 || !civil_to_ms(&c, &local))
    return false;
  *ms = local - (int64_t)offset * 60000;
  return true;
}

/* The whole text. */
static bool parse(s3l_span_t s, const char* format, int64_t* ms) {
  civil_t c = {0};
  return take_time(&s, format, &c) && s.n == 0 && civil_to_ms(&c, ms);
}

#define HTTP_FORMAT "%a, %d %b %Y %H:%M:%S GMT"
#define AMZ_FORMAT  "%Y%m%dT%H%M%SZ"

/* Two digits; else a number that no part of a time can be. */
static int two_digits(const char* p) {
  unsigned tens = (unsigned)(p[0] - '0'), ones = (unsigned)(p[1] - '0');
  return tens <= 9 && ones <= 9 ? (int)(tens * 10 + ones) : 10000;
}

/* HTTP_FORMAT, each part at its place: a reply of a store has two such times. */
static bool parse_fixed(s3l_span_t s, int64_t* ms) {
  const char* p = s.p;
  int month;
  if (s.n != 29)
    return false;
  s3l_span_t names[2] = {{p, 3}, {p + 8, 3}};
  if (p[3] != ',' || p[4] != ' ' || p[7] != ' ' || p[11] != ' ' || p[16] != ' ' || p[19] != ':' ||
      p[22] != ':' || memcmp(p + 25, " GMT", 4) != 0 ||
      !take_name(&names[0], day_names, 7, 3, &month) ||
      !take_name(&names[1], month_names, 12, 3, &month))
    return false;
  const civil_t c = {.year = two_digits(p + 12) * 100 + two_digits(p + 14),
                     .month = month + 1,
                     .day = two_digits(p + 5),
                     .hour = two_digits(p + 17),
                     .minute = two_digits(p + 20),
                     .second = two_digits(p + 23)};
  return civil_to_ms(&c, ms);
}

bool s3l_time_parse_http(s3l_span_t s, int64_t* ms) {
  return parse_fixed(s, ms) || parse(s, "%A, %d-%b-%y %H:%M:%S GMT", ms) ||
         parse(s, "%a %b %e %H:%M:%S %Y", ms);
}

bool s3l_time_parse_amz(s3l_span_t s, int64_t* ms) {
  return parse(s, AMZ_FORMAT, ms);
}

/* ---- Writing ---- */

static void put_digits(s3l_buf_t* b, int v, int digits) {
  if (digits > 1)
    put_digits(b, v / 10, digits - 1);
  s3l_buf_putc(b, (char)('0' + v % 10));
}

static void put_field(s3l_buf_t* b, char field, const civil_t* c) {
  switch (field) {
  case 'Y':
    put_digits(b, c->year, 4);
    break;
  case 'm':
    put_digits(b, c->month, 2);
    break;
  case 'b':
    s3l_buf_puts(b, month_names[c->month - 1]);
    break;
  case 'd':
    put_digits(b, c->day, 2);
    break;
  case 'a':
    s3l_buf_put(b, (s3l_span_t){day_names[c->weekday], 3});
    break;
  case 'H':
    put_digits(b, c->hour, 2);
    break;
  case 'M':
    put_digits(b, c->minute, 2);
    break;
  case 'S':
    put_digits(b, c->second, 2);
    break;
  default:
    put_digits(b, c->ms, 3);
    break;
  }
}

static bool format_time(int64_t ms, const char* format, char* out, size_t cap) {
  civil_t c;
  s3l_buf_t b;
  out[0] = '\0';
  if (!civil_from_ms(ms, &c))
    return false;
  s3l_buf_init(&b, out, cap);
  for (; *format != '\0'; format++) {
    if (*format == '%')
      put_field(&b, *++format, &c);
    else
      s3l_buf_putc(&b, *format);
  }
  return s3l_buf_cstr(&b) != NULL;
}

bool s3l_time_format_rfc3339(int64_t ms, char out[S3L_TIME_RFC3339_SIZE]) {
  if (ms % 1000 != 0)
    return s3l_time_format_rfc3339_ms(ms, out);
  return format_time(ms, "%Y-%m-%dT%H:%M:%SZ", out, S3L_TIME_RFC3339_SIZE);
}

bool s3l_time_format_rfc3339_ms(int64_t ms, char out[S3L_TIME_RFC3339_SIZE]) {
  return format_time(ms, "%Y-%m-%dT%H:%M:%S.%LZ", out, S3L_TIME_RFC3339_SIZE);
}

bool s3l_time_format_http(int64_t ms, char out[S3L_TIME_HTTP_SIZE]) {
  return format_time(ms, HTTP_FORMAT, out, S3L_TIME_HTTP_SIZE);
}

bool s3l_time_format_amz(int64_t ms, char out[S3L_TIME_AMZ_SIZE]) {
  return format_time(ms, AMZ_FORMAT, out, S3L_TIME_AMZ_SIZE);
}
