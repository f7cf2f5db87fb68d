import LibC
import Synchronization

/// A file on an HTTP server, read in ranges (RFC 9110, section 14).
///
/// - Reads go through a ``RemoteCache``. A run of missing blocks is one request; when runs follow each other, requests
///   grow ahead of the reader.
/// - Transient failures (timeouts, lost connections, 408, 425, 429, 5xx) are tried again with growing waits.
/// - The first answer's entity tag, or its date and size, must stay the same: half of one edition and half of another
///   is no raster.
final class RemoteSourceFile: Sendable {
  /// The URL without secrets, for messages.
  let path: String
  let size: Int
  private let url: String
  private let etag: String?
  private let lastModified: String?
  private let cache: RemoteCache
  private let number: Int
  private let state: Mutex<State>

  private struct State {
    var idle: [RemoteConnection] = []
    /// Where the last runs ended, and how many blocks further the next one may go.
    var ends: [(block: Int, ahead: Int)] = []
    var failure: CutError?
  }

  /// The first bytes, or all of a server that sends no ranges.
  enum Opened {
    case file(RemoteSourceFile, prefix: [UInt8])
    /// The server sends the whole only; the prefix tells its format.
    case wholeOnly(prefix: [UInt8])
  }

  static func isURL(_ path: String) -> Bool {
    let lower = path.prefix(8).lowercased()
    return lower.hasPrefix("http://") || lower.hasPrefix("https://")
  }

  /// The URL without user, password and other secrets.
  static func label(_ url: String) -> String {
    let url = RemoteSecrets.withoutParameters(url)
    guard let scheme = url.ranges(of: "://").first else { return url }
    let end = url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex
    guard let at = url[scheme.upperBound..<end].lastIndex(of: "@") else { return url }
    return String(url[..<scheme.upperBound] + url[url.index(after: at)...])
  }

  /// Asks for the first block, which tells the size, the edition, and whether the server sends ranges.
  ///
  /// - Parameter url: may name variables of the environment (``RemoteSecrets``).
  /// - Throws: ``CutError`` `.unreadableSource` naming the URL.
  static func open(_ url: String, cache: RemoteCache) throws -> Opened {
    let connection = try RemoteConnection()
    let (address, label) = (try RemoteSecrets.resolved(url), label(url))
    let (response, body) = try request(
      address, label, 0..<RemoteCache.blockBytes, condition: nil, over: connection, cache, isFirst: true)
    if response.status == 416 { throw CutError(.badSource, path: label, "is empty", remedy: "name a raster file") }
    guard response.status == 206 else { return .wholeOnly(prefix: body) }
    guard let total = response.total, total > 0 else {
      throw refusal(label, "the server does not say how large it is", remedy: "download it first")
    }
    guard response.rangeFirst == 0, body.count == min(total, RemoteCache.blockBytes) else {
      throw refusal(label, "the server sent other bytes than those asked for", remedy: "download it first")
    }
    let file = RemoteSourceFile(address, label, response, size: total, cache: cache, connection)
    cache.store(body[...], file: file.number, firstBlock: 0)
    return .file(file, prefix: body)
  }

  private init(
    _ url: String, _ label: String, _ response: RemoteResponse, size: Int, cache: RemoteCache,
    _ connection: RemoteConnection
  ) {
    (self.url, path) = (url, label)
    (etag, lastModified, self.size) = (response.etag, response.lastModified, size)
    (self.cache, number) = (cache, cache.newFile())
    state = Mutex(State(idle: [connection]))
  }

  /// The server's name for this state of the file; nil if it sends neither an entity tag nor a date.
  var edition: String? { etag ?? lastModified }

  /// The error that ended reading; all later reads fail, too.
  var failure: CutError? { state.withLock { $0.failure } }

  /// Reads at a position, fewer bytes at the end of the file; nil after a ``failure``.
  func read(into target: UnsafeMutableRawPointer, count: Int, at offset: Int) -> Int? {
    guard failure == nil else { return nil }
    let end = min(offset + count, size)
    guard offset >= 0, offset < end else { return 0 }
    let blockBytes = RemoteCache.blockBytes
    do {
      try cache.blocks(
        offset / blockBytes...(end - 1) / blockBytes, of: number, limit: (size + blockBytes - 1) / blockBytes
      ) { run in
        state.withLock { self.ahead(of: run, &$0) }
      } fetch: { run in
        try fetch(run.lowerBound * blockBytes..<min((run.upperBound + 1) * blockBytes, size))
      } use: { block, bytes in
        let first = max(offset, block * blockBytes)
        let last = min(end, block * blockBytes + bytes.count)
        bytes.withUnsafeBytes { bytes in
          guard first < last else { return }
          (target + (first - offset)).copyMemory(
            from: bytes.baseAddress! + (first - block * blockBytes), byteCount: last - first)
        }
      }
      return end - offset
    } catch {
      state.withLock { state in
        if state.failure == nil { state.failure = error as? CutError }
      }
      return nil
    }
  }

  /// How many blocks to fetch beyond a run: none for a jump, twice as many as last time where the last run goes on.
  private func ahead(of run: ClosedRange<Int>, _ state: inout State) -> Int {
    let largest = max(min(cache.bytesMax / 16, 1 << 20) / RemoteCache.blockBytes, 1)
    var ahead = 0
    if let known = state.ends.firstIndex(where: { $0.block == run.lowerBound }) {
      ahead = min(max(2 * state.ends[known].ahead, 2), largest)
      state.ends.remove(at: known)
    }
    state.ends.append((run.upperBound + 1 + ahead, ahead))
    if state.ends.count > 16 { state.ends.removeFirst() }
    return ahead
  }

  private func fetch(_ range: Range<Int>) throws -> [UInt8] {
    let connection = try state.withLock { $0.idle.popLast() } ?? RemoteConnection()
    // Weak tags may not be conditions (RFC 9110, section 13.1.1); they are compared.
    let condition: String? =
      if let etag { etag.hasPrefix("W/") ? nil : "If-Match: \(etag)" } else {
        lastModified.map { "If-Unmodified-Since: \($0)" }
      }
    let (response, body) = try Self.request(
      url, path, range, condition: condition, over: connection, cache, isFirst: false)
    state.withLock { $0.idle.append(connection) }
    let isSame =
      response.etag == etag && response.total ?? size == size
      && (etag != nil || response.lastModified == lastModified)
    guard response.status != 412, response.status != 416, response.status != 200, isSame else {
      throw CutError(
        .badSource, path: path, "changed on the server while it was being read",
        remedy: "cut again when nobody writes to it")
    }
    guard response.rangeFirst == range.lowerBound, body.count == range.count else {
      throw Self.refusal(path, "the server sent other bytes than those asked for", remedy: "download it first")
    }
    return body
  }

  /// Writes the whole resource to a scratch file.
  ///
  /// - Throws: ``CutError`` naming the URL, also for more than `bytesMax` bytes, or the scratch directory.
  static func download(
    _ url: String, into file: ScratchFile, bytesMax: Int, cache: RemoteCache
  ) throws -> Int {
    let limits = cache.limits
    let (address, label) = (try RemoteSecrets.resolved(url), label(url))
    let connection = try RemoteConnection()
    for attempt in 1... {
      var count = 0
      var failure: (any Error)?
      let response = connection.get(address, range: nil, condition: nil, cache: cache) { bytes in
        guard count + bytes.count <= bytesMax else { return false }
        do { try file.write(bytes.baseAddress!, count: bytes.count, at: count) } catch {
          failure = error
          return false
        }
        count += bytes.count
        return true
      }
      cache.note(response)
      if cache.isCancelled { throw CutError(.cancelled, "cancelled") }
      if let failure { throw failure }
      if response.isStopped {
        throw refusal(label, "is larger than \(bytesMax >> 30) GB", remedy: "download it first")
      }
      if response.failure == nil, response.status == 200 {
        try requirePlain(response, label)
        return count
      }
      guard response.isWorthAnotherTry, attempt < limits.tries else { throw refusal(label, response) }
      wait(response, attempt, cache)
    }
    return 0
  }

  /// Gets a range, with repetitions. Of a server that sends the whole instead, the first bytes.
  private static func request(
    _ url: String, _ label: String, _ range: Range<Int>, condition: String?, over connection: RemoteConnection,
    _ cache: RemoteCache, isFirst: Bool
  ) throws -> (RemoteResponse, [UInt8]) {
    let limits = cache.limits
    for attempt in 1... {
      var body: [UInt8] = []
      body.reserveCapacity(range.count)
      let response = connection.get(url, range: range, condition: condition, cache: cache) { bytes in
        // A server that ignores the range goes on to the end of the file.
        let room = range.count - body.count
        body.append(contentsOf: bytes.prefix(room))
        return bytes.count <= room
      }
      cache.note(response)
      if cache.isCancelled { throw CutError(.cancelled, "cancelled") }
      if response.failure == nil || response.isStopped {
        switch response.status {
        case 200, 206:
          try requirePlain(response, label)
          return (response, body)
        case 412, 416: return (response, body)
        default: break
        }
      }
      let isHopeless = isFirst && response.isUnreachable
      guard response.isWorthAnotherTry, !isHopeless, attempt < limits.tries else { throw refusal(label, response) }
      wait(response, attempt, cache)
    }
    throw refusal(label, "was not answered", remedy: "try again")
  }

  private static func wait(_ response: RemoteResponse, _ attempt: Int, _ cache: RemoteCache) {
    let own = cache.limits.backoffSeconds * Double(1 << min(attempt - 1, 10))
    let seconds = min(max(own, response.retryAfterSeconds ?? 0), cache.limits.waitSecondsMax)
    let end = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < end, !cache.isCancelled { usleep(useconds_t(min(seconds, 0.1) * 1e6)) }
  }

  private static func requirePlain(_ response: RemoteResponse, _ label: String) throws {
    guard let encoding = response.encoding, encoding.lowercased() != "identity" else { return }
    throw refusal(
      label, "the server sends it encoded as \(encoding), of which ranges cannot be read", remedy: "download it first")
  }

  private static func refusal(_ label: String, _ message: String, remedy: String) -> CutError {
    CutError(.unreadableSource, path: label, message, remedy: remedy)
  }

  /// The error for a request that failed for good.
  private static func refusal(_ label: String, _ response: RemoteResponse) -> CutError {
    if let failure = response.failure {
      if response.isTLS {
        return refusal(
          label, "its server cannot be trusted: \(failure)",
          remedy: "check the address; SSL_CERT_FILE names a file of further trusted certificates")
      }
      return refusal(label, "cannot be fetched: \(failure)", remedy: "check the address and the connection")
    }
    let remedy =
      switch response.status {
      case 401, 403: "check that it may be read without signing in"
      case 404, 410: "check the address"
      default: "try again later, or download it first"
      }
    return refusal(label, "the server answers with status \(response.status)", remedy: remedy)
  }
}
