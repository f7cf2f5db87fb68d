import MapStoreWire
import ServerSupport
import Synchronization

/// Counters of the running service, in Prometheus' text format.
final class StoreMetrics: Sendable {
  private struct Counts {
    var requests: [Key: Int] = [:]
    var purchases: [PurchaseResult.Outcome: Int] = [:]
    var refusals: [String: Int] = [:]
    var sentBytes = 0
  }

  private struct Key: Hashable {
    /// Nil for requests without a route.
    let route: StoreRoute?
    let status: Int
  }

  private let counts = Mutex(Counts())

  func count(route: StoreRoute?, status: Int) {
    counts.withLock { $0.requests[Key(route: route, status: status), default: 0] += 1 }
  }

  private static func name(_ route: StoreRoute?) -> String {
    route.map { "\($0.method.rawValue) \($0.path)" } ?? "other"
  }

  func count(_ outcome: PurchaseResult.Outcome) { counts.withLock { $0.purchases[outcome, default: 0] += 1 } }

  /// - Parameter code: the last part of the problem's type.
  func count(refusal code: String) { counts.withLock { $0.refusals[code, default: 0] += 1 } }

  func count(sentBytes: Int) { counts.withLock { $0.sentBytes += sentBytes } }

  /// - Parameter gauges: name, meaning and current value.
  func document(gauges: [(name: String, help: String, value: Int)]) -> String {
    let counts = counts.withLock { $0 }
    var text = MetricsText()
    func family(_ name: String, _ kind: String, _ help: String, _ lines: [(labels: String, value: Int)]) {
      text.begin("mapstore_\(name)", kind, help)
      for line in lines { text.sample("mapstore_\(name)", line.labels, "\(line.value)") }
    }
    family(
      "requests_total", "counter", "Answered requests.",
      counts.requests.map { ("{route=\"\(Self.name($0.key.route))\",status=\"\($0.key.status)\"}", $0.value) }.sorted {
        $0 < $1
      })
    family(
      "purchases_total", "counter", "Pieces of evidence that apps posted, by what became of them.",
      counts.purchases.map { ("{outcome=\"\($0.key.rawValue)\"}", $0.value) }.sorted { $0 < $1 })
    family(
      "refusals_total", "counter", "Problems that were answered, by type.",
      counts.refusals.map { ("{type=\"\($0.key)\"}", $0.value) }.sorted { $0 < $1 })
    family("file_bytes_total", "counter", "Bytes of files that were sent.", [("", counts.sentBytes)])
    for gauge in gauges { family(gauge.name, "gauge", gauge.help, [("", gauge.value)]) }
    return text.text
  }
}
