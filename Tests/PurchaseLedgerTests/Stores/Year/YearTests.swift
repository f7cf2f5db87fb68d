import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

/// A year of nightly jobs against both simulated stores, in virtual time: at the end the books equal the stores', each
/// purchase was acknowledged in time, and no job ended with anything but 0 or 1 unless a store had a fault.
///
/// Everything follows from the seed, which a failure prints.
@Suite(.ownThread) struct YearTests {
  @Test(arguments: 1...20 as ClosedRange<UInt64>) func theBooksEqualTheStores(seed: UInt64) async throws {
    try await Self.check(YearPlan(seed: seed))
  }

  @Test(.long, arguments: 21...200 as ClosedRange<UInt64>) func theBooksEqualTheStoresInMoreYears(
    seed: UInt64
  ) async throws {
    try await Self.check(YearPlan(seed: seed))
  }

  /// Every night has its jobs.
  @Test(.long, arguments: 201...206 as ClosedRange<UInt64>) func theBooksOfALargerShopEqualTheStores(
    seed: UInt64
  ) async throws {
    try await Self.check(YearPlan(seed: seed, purchases: 30), .every)
  }

  /// The built command, which is killed with -9 in half of the nights.
  @Test func aKilledCommandLosesNothing() async throws { try await Self.checkCommands(1) }

  @Test(.long, arguments: 2...9 as ClosedRange<UInt64>) func aKilledCommandLosesNothingInMoreYears(
    seed: UInt64
  ) async throws { try await Self.checkCommands(seed) }

  /// What the margins are for: without one of them at least one of some years goes wrong.
  @Test(arguments: Guard.allCases) func aYearWithoutItGoesWrong(_ guarded: Guard) async throws {
    var settings = PullSettings()
    switch guarded {
    case .overlap: settings.overlap = 0
    case .endMargin: settings.endMargin = 0
    case .repetition: (settings.attemptsMax, settings.unknownMax) = (1, 1)
    }
    for seed in 1...20 as ClosedRange<UInt64> {
      if try await !YearRun.live(YearPlan(seed: seed), settings: settings).problems.isEmpty { return }
    }
    Issue.record("no year needs the \(guarded)")
  }

  enum Guard: CaseIterable {
    case overlap
    case endMargin
    case repetition
  }

  private static func check(_ plan: YearPlan, _ pace: YearRun.Pace = .eventful) async throws {
    let run = try await YearRun.live(plan, pace: pace)
    #expect(run.problems.isEmpty, "seed \(plan.seed): \(run.problems.joined(separator: "\n"))")
    if ProcessInfo.processInfo.environment["YEAR_LOG"] != nil {
      print("year", plan.seed, run.jobs, run.endings.map { "\($0.value) \($0.key)" })
    }
  }

  private static func checkCommands(_ seed: UInt64) async throws {
    let plan = YearPlan(seed: seed, days: 45, purchases: 4, isFaulty: false)
    let run = try await YearRun.live(plan, byCommands: true)
    #expect(run.problems.isEmpty, "seed \(seed): \(run.problems.joined(separator: "\n"))")
    #expect(run.endings[.killed] ?? 0 > 0)
  }
}
