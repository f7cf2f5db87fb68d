import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

/// A year of nightly jobs against both simulated stores, in virtual time: at the end the books equal the stores', each
/// purchase was acknowledged in time, and no job ended with anything but 0 or 1 unless a store had a fault.
@Suite(.ownThread) struct YearTests {
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func theBooksEqualTheStores(seed: UInt64) async throws {
    try await Self.check(seed)
  }

  static func check(_ seed: UInt64) async throws {
    let run = try await YearRun.live(YearPlan(seed: seed))
    #expect(run.problems.isEmpty, "seed \(seed): \(run.problems.joined(separator: "\n"))")
    if ProcessInfo.processInfo.environment["YEAR_LOG"] != nil { print(seed, run.jobs, run.endings.map { "\($0)" }) }
  }
}
