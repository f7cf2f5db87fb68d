import AsyncHTTPClient
import Dispatch
import NIOCore
import NIOHTTP1
import Support
import Synchronization
import TileIndex

/// Sends requests to one upstream within its limits. Blocks the calling thread, which must not be an event loop's.
final class UpstreamClient: Sendable {
  /// A response with one of the statuses 200, 206, 204, 304, 404, 410, 412.
  struct Answer: Sendable {
    var status: Int
    var fields: HTTPHeaders
    var body: [UInt8]

    func field(_ name: String) -> String? {
      let all = fields[name]
      return all.isEmpty ? nil : all.joined(separator: ", ")
    }
  }

  let settings: UpstreamSettings
  let counts = UpstreamCounts()
  private let health = Mutex(UpstreamHealth())
  private let pace: Mutex<RequestPace>
  /// False while this thread prefetches: such requests are only sent if they may begin at once.
  @TaskLocal static var isPatient = true
  /// Requests in flight; AsyncHTTPClient's own limit is not strict.
  private let room: DispatchSemaphore

  init(_ settings: UpstreamSettings) {
    self.settings = settings
    room = DispatchSemaphore(value: settings.connections)
    pace = Mutex(RequestPace(perSecond: settings.requestsPerSecond))
  }

  /// One client for the process: all upstreams of a host share connections. It follows no redirects, because they are
  /// followed here, where it is known which are allowed, and decompresses nothing, because tiles are stored as
  /// received.
  private static let http: HTTPClient = {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.timeout.connect = .seconds(5)
    // Without a network the error comes at once.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 16
    return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }()

  /// False while the upstream does not answer, or has asked for a pause.
  var isAway: Bool { health.withLock { !$0.mayAsk(at: MonotonicClock.seconds, taking: false) } }

  /// Sends a GET request.
  ///
  /// - Parameters:
  ///   - fields: in addition to those that every request has.
  ///   - bytesMax: a longer answer is refused.
  ///   - answers: statuses that count as answers; others are failures.
  /// - Throws: ``UpstreamFailure``.
  func get(
    _ address: HTTPAddress, _ fields: [(String, String)] = [], bytesMax: Int, answers: Set<Int>
  ) throws(UpstreamFailure) -> Answer {
    guard health.withLock({ $0.mayAsk(at: MonotonicClock.seconds, taking: true) }) else {
      counts.add(.skipped)
      throw UpstreamFailure(.away, "does not answer, or asked to be left alone; it is tried again in a while")
    }
    guard room.wait(timeout: .now() + .seconds(settings.timeoutSeconds)) == .success else {
      // No request was sent, so nothing is known about the upstream's health.
      health.withLock { $0.release() }
      counts.add(.timeout)
      throw UpstreamFailure(.timeout, "too many requests to it are under way")
    }
    defer { room.signal() }
    guard waitForTurn() else {
      health.withLock { $0.release() }
      counts.add(.limited)
      throw limited()
    }
    do throws(UpstreamFailure) {
      let end = NIODeadline.now() + .seconds(Int64(settings.timeoutSeconds))
      let answer = try exchange(address, fields, bytesMax: bytesMax, end: end, redirectsLeft: 3)
      guard answers.contains(answer.status) else { throw refusal(answer) }
      health.withLock { $0.succeeded() }
      counts.received(answer.body.count)
      return answer
    } catch {
      health.withLock { $0.failed(error, at: MonotonicClock.seconds) }
      counts.add(error.outcome)
      throw error
    }
  }

  private func exchange(
    _ address: HTTPAddress, _ fields: [(String, String)], bytesMax: Int, end: NIODeadline, redirectsLeft: Int
  ) throws(UpstreamFailure) -> Answer {
    let response: HTTPClient.Response
    do {
      var request = try HTTPClient.Request(url: address.text)
      request.headers.add(name: "User-Agent", value: settings.userAgent)
      for (name, value) in fields { request.headers.add(name: name, value: value) }
      let task = Self.http.execute(
        request: request, delegate: ResponseAccumulator(request: request, maxBodySize: bytesMax),
        deadline: end)
      response = try task.wait()
    } catch {
      throw UpstreamFailure(error)
    }
    if [301, 302, 303, 307, 308].contains(response.status.code) {
      guard redirectsLeft > 0 else { throw UpstreamFailure(.refused, "redirects in circles") }
      guard let next = response.headers.first(name: "location").flatMap(address.redirected) else {
        throw UpstreamFailure(.refused, "redirects to another server or scheme, which is not followed")
      }
      guard waitForTurn() else { throw limited() }
      return try exchange(next, fields, bytesMax: bytesMax, end: end, redirectsLeft: redirectsLeft - 1)
    }
    return Answer(
      status: Int(response.status.code), fields: response.headers,
      body: response.body.map { Array($0.readableBytesView) } ?? [])
  }

  /// Waits until the rate limit allows one more request.
  ///
  /// - Returns: false if that would take longer than the time limit of a request.
  private func waitForTurn() -> Bool {
    let now = MonotonicClock.seconds
    let patience = Self.isPatient ? Double(settings.timeoutSeconds) : 0
    guard let start = pace.withLock({ $0.begin(at: now, until: now + patience) }) else { return false }
    if start > now { _ = DispatchSemaphore(value: 0).wait(timeout: .now() + (start - now)) }
    return true
  }

  private func limited() -> UpstreamFailure {
    UpstreamFailure(.limited, "gets no more than \(settings.requestsPerSecond) requests a second from here")
  }

  private func refusal(_ answer: Answer) -> UpstreamFailure {
    let wait = Freshness.retryAfter(answer.field("retry-after"), now: WallClock.seconds)
    switch answer.status {
    case 429, 503: return UpstreamFailure(.failed, "answers \(answer.status): it has too much to do", retryAfter: wait)
    case 500...: return UpstreamFailure(.failed, "answers \(answer.status)", retryAfter: wait)
    default: return UpstreamFailure(.refused, "answers \(answer.status)")
    }
  }
}

extension UpstreamClient {
  /// A longer answer is not a tile.
  private static let tileBytesMax = 8 << 20
  /// What is unpacked to see whether a vector tile is whole.
  private static let unpackedBytesMax = 64 << 20

  /// Requests a tile by its URL.
  ///
  /// - Parameter known: the cached tile, for a conditional request.
  func news(_ tile: TileID, _ known: UpstreamTileStore.Found?) throws -> UpstreamNews {
    guard case .template(let template) = settings.address else {
      preconditionFailure("an archive has no URLs of tiles")
    }
    var fields: [(String, String)] = []
    // Vector tiles are stored with gzip.
    if settings.format == .pbf { fields.append(("Accept-Encoding", "gzip")) }
    if let known, known.bytes != nil {
      if !known.state.entityTag.isEmpty { fields.append(("If-None-Match", known.state.entityTag)) }
      if !known.state.lastModified.isEmpty { fields.append(("If-Modified-Since", known.state.lastModified)) }
    }
    let answer = try get(
      template.address(tile), fields, bytesMax: Self.tileBytesMax, answers: [200, 204, 304, 404, 410])
    let now = WallClock.seconds
    switch answer.status {
    case 304 where known?.bytes != nil:
      counts.add(.unchanged)
      return .unchanged(expires: expiry(answer, now))
    case 204, 304, 404, 410:
      counts.add(.missing)
      let expires = Freshness.expiry(now: now, fallback: settings.missingSeconds, field: answer.field)
      return .tile(
        nil, .init(fetched: now, expires: min(expires, now + settings.missingSeconds)), archive: nil,
        mayBeKept: Freshness.mayBeKept(answer.field))
    default:
      guard isTile(answer.body) else {
        counts.add(.invalid)
        throw UpstreamFailure(.invalid, "answers with something that is no tile")
      }
      guard isWhole(answer.body) else {
        counts.add(.invalid)
        throw UpstreamFailure(.invalid, "answers with a part of a tile")
      }
      counts.add(.fetched)
      return .tile(
        answer.body,
        .init(
          fetched: now, expires: expiry(answer, now), entityTag: Self.kept(answer.field("etag")),
          lastModified: Self.kept(answer.field("last-modified"))), archive: nil,
        mayBeKept: Freshness.mayBeKept(answer.field))
    }
  }

  private func expiry(_ answer: Answer, _ now: Int) -> Int {
    Freshness.expiry(now: now, fallback: settings.freshSeconds, field: answer.field)
  }

  /// Some servers send error pages with status 200. Uncompressed vector tiles have no magic number.
  private func isTile(_ bytes: [UInt8]) -> Bool {
    guard let format = bytes.withUnsafeBytes(TileFormat.init(sniffing:)) else {
      return settings.format == .pbf && !bytes.isEmpty && bytes[0] != UInt8(ascii: "<") && bytes[0] != UInt8(ascii: "{")
    }
    return (format == .pbf) == (settings.format == .pbf)
  }

  /// An answer without a length ends where its connection breaks.
  private func isWhole(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in
      guard let packing = Gunzip.packing(bytes) else { return WholeTile.isWhole(bytes, expecting: settings.format) }
      do throws(Gunzip.Failure) {
        _ = try Gunzip.check(bytes, byteCountMax: Self.unpackedBytesMax, packing: packing)
        return true
      } catch .damaged {
        return false
      } catch {
        // Its size is for those to judge who unpack it.
        return true
      }
    }
  }

  /// A validator that is sent back later must be one short line.
  private static func kept(_ field: String?) -> String {
    guard let field, field.utf8.count <= 200, field.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else { return "" }
    return field
  }
}

/// The answer of a server for a tile.
enum UpstreamNews {
  /// The cached tile is still valid, and fresh until then.
  case unchanged(expires: Int)
  /// Nil bytes: there is no such tile. With the identity of the archive, if it is one; and whether others may keep it.
  case tile([UInt8]?, UpstreamTileStore.State, archive: String?, mayBeKept: Bool = true)
}

/// The freshness lifetime of a response (RFC 9111, section 4.2).
enum Freshness {
  /// Lifetimes are limited to between a minute and a year.
  private static let secondsMax = 365 * 86_400
  static let secondsMin = 60

  /// Seconds since 1970 until which a response is fresh.
  ///
  /// - Parameters:
  ///   - field: the answer's header fields by their names.
  ///   - fallback: seconds, if the response has no lifetime.
  static func expiry(now: Int, fallback: Int, field: (String) -> String?) -> Int {
    let directives = directives(field)
    if directives.contains("no-store") || directives.contains("no-cache") { return now + secondsMin }
    func seconds(_ name: String) -> Int? {
      directives.first { $0.hasPrefix("\(name)=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
    }
    let age = field("age").flatMap { Int($0) } ?? 0
    if let lifetime = seconds("s-maxage") ?? seconds("max-age") {
      return now + min(max(min(max(lifetime, 0), secondsMax) - min(max(age, 0), secondsMax), secondsMin), secondsMax)
    }
    if let expires = field("expires") {
      // By the server's own clock if it sends a Date. An unreadable date counts as past.
      let serverNow = field("date").flatMap(HTTPDate.seconds) ?? now
      return now + min(max((HTTPDate.seconds(expires) ?? 0) - serverNow, secondsMin), secondsMax)
    }
    return now + fallback
  }

  /// False for what is neither to be stored nor to be given to others (RFC 9111, sections 5.2.2.5 and 5.2.2.7).
  static func mayBeKept(_ field: (String) -> String?) -> Bool {
    !directives(field).contains { $0 == "no-store" || $0 == "private" || $0.hasPrefix("private=") }
  }

  private static func directives(_ field: (String) -> String?) -> [String] {
    (field("cache-control") ?? "").lowercased().split(separator: ",").map { part in
      part.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
    }
  }

  /// Seconds of a Retry-After field (RFC 9110, section 10.2.3); nil without a readable one.
  static func retryAfter(_ text: String?, now: Int) -> Int? {
    text.flatMap { RetryAfter.seconds($0, now: Int64(now) * 1000) }.map { Int($0) }
  }
}
