#include "CCurlShim.h"

// Type checks are macros that would hide the functions' names.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "CLazyLibrary.h"

struct ccurl {
  CURL *curl;
};

typedef struct {
  CURL *curl;
  ccurl_sink sink;
  ccurl_stop stop;
  void *context;
  ccurl_result *result;
} transfer;

// The body of an error is read up to this, so that the connection can be used again.
#define ERROR_BODY_MAX 65536

#define FUNCTIONS(F)                                                                           \
  F(curl_easy_cleanup) F(curl_easy_getinfo) F(curl_easy_init) F(curl_easy_perform)             \
  F(curl_easy_reset) F(curl_easy_setopt) F(curl_easy_strerror) F(curl_global_init)             \
  F(curl_slist_append) F(curl_slist_free_all) F(curl_version)

// The macros of these names would be taken for the functions.
#undef curl_easy_setopt
#undef curl_easy_getinfo
CLAZY_LIBRARY(library, FUNCTIONS, "libcurl-gnutls.so.4", "libcurl.so.4")

const char *ccurl_load(void) { return clazy_load(&library); }

const char *ccurl_version(void) { return curl_version(); }

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void initialize(void) { curl_global_init(CURL_GLOBAL_DEFAULT); }

ccurl *ccurl_new(void) {
  pthread_once(&once, initialize);
  ccurl *handle = calloc(1, sizeof *handle);
  if (handle && !(handle->curl = curl_easy_init())) {
    free(handle);
    return NULL;
  }
  return handle;
}

void ccurl_free(ccurl *handle) {
  curl_easy_cleanup(handle->curl);
  free(handle);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *client) {
  transfer *t = client;
  size_t n = size * count;
  t->result->received += (int64_t)n;
  long status = 0;
  curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200 && status != 206) return t->result->received > ERROR_BODY_MAX ? 0 : n;
  if (t->sink(t->context, bytes, n) == 0) return n;
  t->result->is_stopped = 1;
  return 0;
}

// The value of a header line with the given name, copied without the spaces around it.
static int value(const char *line, size_t bytes, const char *name, char *out, size_t out_bytes) {
  size_t length = strlen(name);
  if (bytes <= length || strncasecmp(line, name, length) != 0 || line[length] != ':') return 0;
  const char *from = line + length + 1, *end = line + bytes;
  while (from < end && (*from == ' ' || *from == '\t')) from++;
  while (end > from && (unsigned char)end[-1] <= ' ') end--;
  size_t n = (size_t)(end - from);
  // A value that does not fit is none: half of an entity tag would match nothing.
  if (n >= out_bytes) n = 0;
  memcpy(out, from, n);
  out[n] = 0;
  return 1;
}

static void forget_headers(ccurl_result *r) {
  r->range_first = r->range_last = r->range_total = r->length = r->retry_after = -1;
  r->etag[0] = r->last_modified[0] = r->encoding[0] = 0;
}

static size_t take_header(char *line, size_t size, size_t count, void *client) {
  ccurl_result *r = ((transfer *)client)->result;
  size_t n = size * count;
  char text[128];
  // Each response of a chain of redirects begins with a status line.
  if (n > 5 && strncmp(line, "HTTP/", 5) == 0) forget_headers(r);
  if (value(line, n, "etag", r->etag, sizeof r->etag)) return n;
  if (value(line, n, "last-modified", r->last_modified, sizeof r->last_modified)) return n;
  if (value(line, n, "content-encoding", r->encoding, sizeof r->encoding)) return n;
  if (value(line, n, "content-length", text, sizeof text)) r->length = atoll(text);
  if (value(line, n, "retry-after", text, sizeof text)) r->retry_after = text[0] >= '0' && text[0] <= '9' ? atol(text) : -1;
  if (value(line, n, "content-range", text, sizeof text)) {
    long long first = -1, last = -1, total = -1;
    if (sscanf(text, "bytes %lld-%lld/%lld", &first, &last, &total) >= 2) {
      r->range_first = first, r->range_last = last, r->range_total = total;
    } else if (sscanf(text, "bytes */%lld", &total) == 1) {
      r->range_total = total;
    }
  }
  return n;
}

static int ask_to_go_on(void *client, curl_off_t to_get, curl_off_t got, curl_off_t to_put, curl_off_t put) {
  (void)to_get, (void)got, (void)to_put, (void)put;
  transfer *t = client;
  return t->stop(t->context);
}

static void classify(CURLcode code, ccurl_result *r) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT: r->is_unreachable = r->is_transient = 1; break;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: r->is_transient = 1; break;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: r->is_tls = 1; break;
    default: break;
  }
}

void ccurl_get(ccurl *handle, const char *url, const ccurl_request *request, ccurl_sink sink, ccurl_stop stop,
               void *context, ccurl_result *result) {
  CURL *curl = handle->curl;
  memset(result, 0, sizeof *result);
  forget_headers(result);
  transfer t = {curl, sink, stop, context, result};
  // Keeps connections, sessions and addresses.
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, result->message);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, request->user_agent);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
  int is_secure = strncasecmp(url, "https:", 6) == 0;
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, (long)(is_secure ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, request->connect_ms);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1024L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, request->stall_seconds);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  if (request->ca_file) curl_easy_setopt(curl, CURLOPT_CAINFO, request->ca_file);
  char range[64];
  if (request->count >= 0) {
    snprintf(range, sizeof range, "%lld-%lld", (long long)request->offset,
             (long long)(request->offset + request->count - 1));
    curl_easy_setopt(curl, CURLOPT_RANGE, range);
  }
  struct curl_slist *headers = request->condition ? curl_slist_append(NULL, request->condition) : NULL;
  if (headers) curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &t);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &t);

  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ask_to_go_on);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &t);

  CURLcode code = curl_easy_perform(curl);
  result->code = (int)code;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &result->status);
  classify(code, result);
  if (code != CURLE_OK && !result->message[0]) snprintf(result->message, sizeof result->message, "%s", curl_easy_strerror(code));
  curl_slist_free_all(headers);
  // The buffer goes with the result.
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
}
