import AsyncHTTPClient
import Dispatch
import NIOCore
import NIOHTTP1
import Support
import Synchronization
import TileIndex

/// Asks one upstream, within its limits. Blocks the calling thread, which must be no event loop's.
final class UpstreamClient: Sendable {
  /// What came back, with a status that is an answer: 200, 206, 204, 304, 404, 410, 412.
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
  /// False while this thread asks for what nobody waits for: that goes only where it may begin at once.
  @TaskLocal static var isPatient = true
  /// Requests under way; AsyncHTTPClient's own limit is a wish.
  private let room: DispatchSemaphore

  init(_ settings: UpstreamSettings) {
    self.settings = settings
    room = DispatchSemaphore(value: settings.connections)
    pace = Mutex(RequestPace(perSecond: settings.requestsPerSecond))
  }

  /// One for the process: connections are shared by all upstreams of a host. It follows no redirects, because they are followed here, where it is
  /// known which are allowed, and unpacks nothing, because tiles are kept as they come.
  private static let http: HTTPClient = {
    var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
    configuration.timeout.connect = .seconds(5)
    // Whoever has no network is to know it at once.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 16
    return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }()

  /// False while the upstream does not answer, or wants to be left alone: asking would only take time.
  var isAway: Bool { health.withLock { !$0.mayAsk(at: MonotonicClock.seconds, taking: false) } }

  /// Asks for something.
  ///
  /// - Parameters:
  ///   - fields: beside those that every request has.
  ///   - bytesMax: a longer answer is refused.
  ///   - answers: statuses that are answers; others are failures.
  /// - Throws: ``UpstreamFailure``.
  func get(
    _ address: HTTPAddress, _ fields: [(String, String)] = [], bytesMax: Int, answers: Set<Int>
  ) throws(UpstreamFailure) -> Answer {
    guard health.withLock({ $0.mayAsk(at: MonotonicClock.seconds, taking: true) }) else {
      counts.add(.skipped)
      throw UpstreamFailure(.away, "does not answer, or asked to be left alone; it is tried again in a while")
    }
    guard room.wait(timeout: .now() + .seconds(settings.timeoutSeconds)) == .success else {
      // Nothing was asked, so nothing was learnt.
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

  /// Waits until one more request may go to the upstream.
  ///
  /// - Returns: false when that would take longer than a request may.
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

/// When requests may begin, so that no second sees more of them than so many. Times are seconds of a clock that only runs forwards.
struct RequestPace {
  /// When the last ones began or are to begin, as many as a second may have; the oldest is next.
  private var starts: [Double]
  private var next = 0

  /// - Parameter perSecond: at least 1.
  init(perSecond: Int) { starts = Array(repeating: -.infinity, count: perSecond) }

  /// Takes the first moment from now on at which one more request may begin.
  ///
  /// - Returns: nil, and nothing is taken, when that is after `end`.
  mutating func begin(at now: Double, until end: Double) -> Double? {
    let start = max(now, starts[next] + 1)
    guard start <= end else { return nil }
    starts[next] = start
    next = (next + 1) % starts.count
    return start
  }
}
