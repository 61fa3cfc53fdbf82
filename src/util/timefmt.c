#include "util/timefmt.h"

#include <string.h>

#include "util/buf.h"

typedef struct civil_s {
  int64_t year;
  int month; /* 1..12 */
  int day;   /* 1..31 */
  int hour;
  int minute;
  int second;
  int ms;
  int weekday; /* 0 is Sunday */
} civil_t;

static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char day_names[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char day_name_rests[7][7] = {"day", "day", "sday", "nesday", "rsday", "day", "urday"};

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
  c->year = yoe + era * 400 + (c->month <= 2 ? 1 : 0);
  c->weekday = (int)(((days + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
}

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
  return c->year >= 0 && c->year <= 9999;
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

/* A cursor: each reader takes its bytes off the front of the span, or fails. */

static bool take_char(s3l_span_t* s, char c) {
  if (s->n == 0 || s->p[0] != c)
    return false;
  s->p++;
  s->n--;
  return true;
}

static bool take_text(s3l_span_t* s, const char* text) {
  s3l_span_t t = s3l_span_cstr(text);
  if (!s3l_span_starts_with(*s, t))
    return false;
  s->p += t.n;
  s->n -= t.n;
  return true;
}

static bool take_digits(s3l_span_t* s, size_t count, int* out) {
  int v = 0;
  if (s->n < count)
    return false;
  for (size_t i = 0; i < count; i++) {
    if (s->p[i] < '0' || s->p[i] > '9')
      return false;
    v = v * 10 + (s->p[i] - '0');
  }
  s->p += count;
  s->n -= count;
  *out = v;
  return true;
}

static bool take_year(s3l_span_t* s, civil_t* c) {
  int year;
  if (!take_digits(s, 4, &year))
    return false;
  c->year = year;
  return true;
}

static bool take_clock(s3l_span_t* s, civil_t* c) {
  return take_digits(s, 2, &c->hour) && take_char(s, ':') && take_digits(s, 2, &c->minute) &&
         take_char(s, ':') && take_digits(s, 2, &c->second);
}

/* Which of these names of three letters comes next, or -1. */
static int take_name(s3l_span_t* s, const char (*names)[4], int count) {
  for (int i = 0; s->n >= 3 && i < count; i++) {
    if (s->p[0] == names[i][0] && s->p[1] == names[i][1] && s->p[2] == names[i][2]) {
      s->p += 3;
      s->n -= 3;
      return i;
    }
  }
  return -1;
}

static bool take_month_name(s3l_span_t* s, civil_t* c) {
  c->month = take_name(s, month_names, 12) + 1;
  return c->month > 0;
}

/* A fraction of 1..9 digits after its point. */
static bool take_fraction(s3l_span_t* s, int* ms) {
  size_t n = 0;
  int v = 0;
  while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9') {
    if (n < 3)
      v = v * 10 + (s->p[n] - '0');
    n++;
  }
  if (n == 0 || n > 9)
    return false;
  for (size_t i = n; i < 3; i++)
    v *= 10;
  s->p += n;
  s->n -= n;
  *ms = v;
  return true;
}

/* "Z" or "+hh:mm", which must be the rest of the text. */
static bool take_offset(s3l_span_t* s, int* minutes) {
  int hour, minute, sign;
  *minutes = 0;
  if (take_char(s, 'Z') || take_char(s, 'z'))
    return s->n == 0;
  if (take_char(s, '+'))
    sign = 1;
  else if (take_char(s, '-'))
    sign = -1;
  else
    return false;
  if (!take_digits(s, 2, &hour) || !take_char(s, ':') || !take_digits(s, 2, &minute) || hour > 23 ||
      minute > 59)
    return false;
  *minutes = sign * (hour * 60 + minute);
  return s->n == 0;
}

bool s3l_time_parse_rfc3339(s3l_span_t s, int64_t* ms) {
  civil_t c = {0};
  int offset;
  int64_t local;
  if (!take_year(&s, &c) || !take_char(&s, '-') || !take_digits(&s, 2, &c.month) ||
      !take_char(&s, '-') || !take_digits(&s, 2, &c.day))
    return false;
  if (!take_char(&s, 'T') && !take_char(&s, 't'))
    return false;
  if (!take_clock(&s, &c))
    return false;
  if (take_char(&s, '.') && !take_fraction(&s, &c.ms))
    return false;
  if (!take_offset(&s, &offset) || !civil_to_ms(&c, &local))
    return false;
  *ms = local - (int64_t)offset * 60000;
  return true;
}

static void put_padded(s3l_buf_t* b, int64_t v, int digits) {
  int64_t scale = 1;
  for (int i = 1; i < digits; i++)
    scale *= 10;
  for (; scale > 0; scale /= 10)
    s3l_buf_putc(b, (char)('0' + v / scale % 10));
}

static void put_clock(s3l_buf_t* b, const civil_t* c) {
  put_padded(b, c->hour, 2);
  s3l_buf_putc(b, ':');
  put_padded(b, c->minute, 2);
  s3l_buf_putc(b, ':');
  put_padded(b, c->second, 2);
}

bool s3l_time_format_rfc3339(int64_t ms, char out[S3L_TIME_RFC3339_SIZE]) {
  civil_t c;
  s3l_buf_t b;
  out[0] = '\0';
  if (!civil_from_ms(ms, &c))
    return false;
  s3l_buf_init(&b, out, S3L_TIME_RFC3339_SIZE);
  put_padded(&b, c.year, 4);
  s3l_buf_putc(&b, '-');
  put_padded(&b, c.month, 2);
  s3l_buf_putc(&b, '-');
  put_padded(&b, c.day, 2);
  s3l_buf_putc(&b, 'T');
  put_clock(&b, &c);
  if (c.ms != 0) {
    s3l_buf_putc(&b, '.');
    put_padded(&b, c.ms, 3);
  }
  s3l_buf_putc(&b, 'Z');
  return s3l_buf_cstr(&b) != NULL;
}

/* Sun, 06 Nov 1994 08:49:37 GMT, after the day's name. */
static bool parse_imf_fixdate(s3l_span_t s, civil_t* c) {
  return take_text(&s, ", ") && take_digits(&s, 2, &c->day) && take_char(&s, ' ') &&
         take_month_name(&s, c) && take_char(&s, ' ') && take_year(&s, c) && take_char(&s, ' ') &&
         take_clock(&s, c) && take_text(&s, " GMT") && s.n == 0;
}

/* Sunday, 06-Nov-94 08:49:37 GMT, after the day's name. */
static bool parse_rfc850(s3l_span_t s, civil_t* c) {
  int year;
  if (!take_text(&s, ", ") || !take_digits(&s, 2, &c->day) || !take_char(&s, '-') ||
      !take_month_name(&s, c) || !take_char(&s, '-') || !take_digits(&s, 2, &year) ||
      !take_char(&s, ' ') || !take_clock(&s, c) || !take_text(&s, " GMT") || s.n != 0)
    return false;
  c->year = year < 70 ? 2000 + year : 1900 + year;
  return true;
}

/* Sun Nov  6 08:49:37 1994, after the day's name. */
static bool parse_asctime(s3l_span_t s, civil_t* c) {
  if (!take_char(&s, ' ') || !take_month_name(&s, c) || !take_char(&s, ' '))
    return false;
  bool day = take_char(&s, ' ') ? take_digits(&s, 1, &c->day) : take_digits(&s, 2, &c->day);
  return day && take_char(&s, ' ') && take_clock(&s, c) && take_char(&s, ' ') && take_year(&s, c) &&
         s.n == 0;
}

bool s3l_time_parse_http(s3l_span_t s, int64_t* ms) {
  civil_t c = {0};
  bool ok;
  int day = take_name(&s, day_names, 7);
  if (day < 0)
    return false;
  if (take_text(&s, day_name_rests[day]))
    ok = parse_rfc850(s, &c);
  else
    ok = s.n > 0 && s.p[0] == ',' ? parse_imf_fixdate(s, &c) : parse_asctime(s, &c);
  return ok && civil_to_ms(&c, ms);
}

bool s3l_time_format_http(int64_t ms, char out[S3L_TIME_HTTP_SIZE]) {
  civil_t c;
  s3l_buf_t b;
  out[0] = '\0';
  if (!civil_from_ms(ms, &c))
    return false;
  s3l_buf_init(&b, out, S3L_TIME_HTTP_SIZE);
  s3l_buf_puts(&b, day_names[c.weekday]);
  s3l_buf_puts(&b, ", ");
  put_padded(&b, c.day, 2);
  s3l_buf_putc(&b, ' ');
  s3l_buf_puts(&b, month_names[c.month - 1]);
  s3l_buf_putc(&b, ' ');
  put_padded(&b, c.year, 4);
  s3l_buf_putc(&b, ' ');
  put_clock(&b, &c);
  s3l_buf_puts(&b, " GMT");
  return s3l_buf_cstr(&b) != NULL;
}

bool s3l_time_parse_amz(s3l_span_t s, int64_t* ms) {
  civil_t c = {0};
  return take_year(&s, &c) && take_digits(&s, 2, &c.month) && take_digits(&s, 2, &c.day) &&
         take_char(&s, 'T') && take_digits(&s, 2, &c.hour) && take_digits(&s, 2, &c.minute) &&
         take_digits(&s, 2, &c.second) && take_char(&s, 'Z') && s.n == 0 && civil_to_ms(&c, ms);
}

bool s3l_time_format_amz(int64_t ms, char out[S3L_TIME_AMZ_SIZE]) {
  civil_t c;
  s3l_buf_t b;
  out[0] = '\0';
  if (!civil_from_ms(ms, &c))
    return false;
  s3l_buf_init(&b, out, S3L_TIME_AMZ_SIZE);
  put_padded(&b, c.year, 4);
  put_padded(&b, c.month, 2);
  put_padded(&b, c.day, 2);
  s3l_buf_putc(&b, 'T');
  put_padded(&b, c.hour, 2);
  put_padded(&b, c.minute, 2);
  put_padded(&b, c.second, 2);
  s3l_buf_putc(&b, 'Z');
  return s3l_buf_cstr(&b) != NULL;
}
