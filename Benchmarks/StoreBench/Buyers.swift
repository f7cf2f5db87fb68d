import Foundation
import MapStoreWire

/// Concurrent buyers: each connection posts one signed purchase after the other.
struct Buyers {
  let folder: String
  let port: Int

  /// Prints `result REQUESTS MICROSECONDS P50 P99 ERRORS`, like the scripts for wrk.
  func run(connections: Int) throws {
    let purchases = try Purchase.all(in: folder)
    let tokens = try Customers.tokens(in: folder)
    let bodies = try purchases.map { try WireJSON.encode(PurchaseSubmission(transactions: [$0.signed])) }
    let lines = try (0..<connections).map { _ in try KeepAliveConnection(port: port) }
    let results = Results(count: connections)
    let start = ContinuousClock.now
    let threads = DispatchGroup()
    for (number, connection) in lines.enumerated() {
      threads.enter()
      nonisolated(unsafe) let connection = connection
      Thread.detachNewThread {
        defer { threads.leave() }
        let (token, account) = tokens[number % tokens.count]
        var result = Result()
        for index in stride(from: number, to: purchases.count, by: connections) {
          let before = ContinuousClock.now
          let answer = try? connection.post(StoreRoute.purchases.path, token: token, bodies[index])
          result.times.append(Int((ContinuousClock.now - before) / .microseconds(1)))
          let isBooked = answer.map { String(decoding: $0.body, as: UTF8.self).contains("\"outcome\":\"booked\"") }
          if answer?.status == 200, isBooked == true {
            result.acknowledged.append("\(purchases[index].id) \(account)")
          } else {
            result.errors += 1
          }
        }
        results.set(number, result)
      }
    }
    threads.wait()
    let microseconds = Int((ContinuousClock.now - start) / .microseconds(1))
    let all = results.all
    let times = all.flatMap(\.times).sorted()
    let acknowledged = all.flatMap(\.acknowledged)
    try (acknowledged.joined(separator: "\n") + "\n").write(
      toFile: "\(folder)/acknowledged", atomically: true, encoding: .utf8)
    print(
      """
      result \(times.count) \(microseconds) \(times[times.count / 2]) \(times[times.count * 99 / 100]) \
      \(all.reduce(0) { $0 + $1.errors })
      """
    )
  }

  struct Result {
    var times: [Int] = []
    var acknowledged: [String] = []
    var errors = 0
  }

  /// The results of several threads, by index.
  private final class Results: @unchecked Sendable {
    private let lock = NSLock()
    private var results: [Result]
    init(count: Int) { results = Array(repeating: Result(), count: count) }
    func set(_ index: Int, _ result: Result) { lock.withLock { results[index] = result } }
    var all: [Result] { lock.withLock { results } }
  }
}
