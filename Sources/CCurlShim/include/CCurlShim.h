// libcurl's variadic functions (curl_easy_setopt, curl_easy_getinfo) behind one call: get a range of bytes over HTTP.
// A handle serves one thread at a time and keeps its connections. Nothing here prints.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct ccurl ccurl;

/// Takes bytes of the body as they arrive; returns 0 to go on, anything else to stop.
typedef int (*ccurl_sink)(void *context, const void *bytes, size_t count);

/// Returns other than 0 to end a transfer; asked about once a second.
typedef int (*ccurl_stop)(void *context);

typedef struct {
  /// The length of the range, or -1 for the whole resource.
  int64_t offset, count;
  /// Header lines to send, or NULL.
  const char *condition;
  const char *user_agent;
  /// A file of trusted certificates, or NULL for the system's.
  const char *ca_file;
  long connect_ms;
  /// A transfer slower than 1 kB/s for this long has timed out.
  long stall_seconds;
} ccurl_request;

typedef struct {
  /// libcurl's code, 0 if the transfer went through, and its words.
  int code;
  char message[256];
  /// Kinds of failure that the caller treats differently.
  uint8_t is_transient, is_tls, is_unreachable;
  /// HTTP's status, 0 if none came.
  long status;
  /// Content-Range: first and last byte and the size of the whole, -1 where the server does not say.
  int64_t range_first, range_last, range_total;
  /// Content-Length, or -1.
  int64_t length;
  /// Bytes of the body that arrived, whatever the status.
  int64_t received;
  char etag[256], last_modified[64], encoding[32];
  /// Retry-After in seconds, or -1.
  long retry_after;
  /// The sink stopped the transfer.
  uint8_t is_stopped;
} ccurl_result;

/// Loads libcurl. Returns NULL, or why it cannot be used. Must be called before the other functions.
const char *ccurl_load(void);
/// libcurl's name and version, and those of what it uses, with spaces between.
const char *ccurl_version(void);
/// NULL when memory is short.
ccurl *ccurl_new(void);
void ccurl_free(ccurl *handle);
/// The body reaches the sink only with status 200 or 206. Redirects are followed to http and https alone, and from
/// https to https.
void ccurl_get(ccurl *handle, const char *url, const ccurl_request *request, ccurl_sink sink, ccurl_stop stop,
               void *context, ccurl_result *result);
