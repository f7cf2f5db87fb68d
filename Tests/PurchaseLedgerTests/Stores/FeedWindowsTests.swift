import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

/// Which window of a store's list is read next.
@Suite struct FeedWindowsTests {
  static let now: Int64 = 1_790_000_000_000
  static let day: Int64 = 86_400_000
  let windows = FeedWindows(kept: 30 * day)

  private func next(_ left: NotificationWindow?, _ wanted: FeedStart = .next) -> FeedWindows.Plan {
    windows.next(after: left, wanted, now: Self.now)
  }

  @Test func theFirstWindowKeepsMarginsAtBothEnds() {
    let plan = next(nil)
    #expect(plan.window.start == Self.now - 30 * Self.day + PullSettings().startMargin && plan.lost == nil)
    #expect(plan.window.end == Self.now - PullSettings().endMargin)
  }

  @Test func windowsOverlapByADay() {
    let end = Self.now - 5 * Self.day
    let plan = next(NotificationWindow(start: end - Self.day, end: end, page: nil))
    #expect(plan.window.start == end - Self.day && plan.lost == nil)
  }

  /// What a clock that was ahead has stored: the window, or even its start, lies in the future.
  @Test(arguments: [600_000, 2 * day, 3650 * day] as [Int64])
  func aWindowOfTheFutureIsReadAgainFromWhereItWasAnswered(_ ahead: Int64) {
    let start = Self.now - 3 * Self.day
    #expect(next(NotificationWindow(start: start, end: Self.now + ahead, page: nil)).window.start <= start)
    let both = NotificationWindow(start: Self.now + ahead, end: Self.now + ahead + 1000, page: nil, first: start)
    #expect(next(both).window.start <= start)
    let all = NotificationWindow(start: Self.now + ahead, end: Self.now + ahead, page: "p")
    #expect(next(all).window.start == Self.now - 30 * Self.day + PullSettings().startMargin)
    #expect(next(NotificationWindow(start: 5, end: 3, page: nil)).window.start > Self.now - 30 * Self.day)
  }

  @Test func whatTheStoreKeepsNoLongerIsLost() {
    let oldest = Self.now - 30 * Self.day + PullSettings().startMargin
    let last = Self.now - 70 * Self.day
    let left = NotificationWindow(start: last - Self.day, end: last, page: nil)
    #expect(next(left).lost == LostWindow(from: last, until: oldest))
    // Up to the end of an unfinished window nothing was answered.
    let unfinished = NotificationWindow(start: last - Self.day, end: last, page: "p")
    #expect(next(unfinished).lost == LostWindow(from: last - Self.day, until: oldest))
    // Asked for, and never kept: told once, not each night by the same command.
    let early = next(nil, .since(last))
    #expect(early.lost == LostWindow(from: last, until: oldest) && early.window.first == last)
    #expect(next(early.window, .since(last)).lost == nil)
    #expect(next(nil).lost == nil)
  }

  @Test func readingAgainBeginsWhereItIsAskedTo() {
    let left = NotificationWindow(start: Self.now - 9 * Self.day, end: Self.now - Self.day, page: nil)
    #expect(next(left, .again(Self.now - 5 * Self.day)).window.start == Self.now - 5 * Self.day)
    // Nothing between is left out.
    #expect(next(left, .again(Self.now - 1000)).window.start == Self.now - 2 * Self.day)
    #expect(next(left, .since(Self.now - 5 * Self.day)).window.start == Self.now - 2 * Self.day)
  }

  /// Whatever the store's clock says and wherever a pull stops: what was answered has no hole, or the hole is told.
  @Test(arguments: 0..<200 as Range<UInt64>) func answeredWindowsHaveNoHole(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var now = Self.now
    var left: NotificationWindow?
    var answered: [ClosedRange<Int64>] = []
    for _ in 0..<40 {
      now += Int64.random(in: 60_000...(Int.random(in: 0..<8, using: &random) == 0 ? 50 : 3) * Self.day, using: &random)
      let wanted: FeedStart =
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .since(now - Int64.random(in: 120_000...40 * Self.day, using: &random))
        case 1: .again(now - Int64.random(in: 120_000...40 * Self.day, using: &random))
        default: .next
        }
      let plan = windows.next(after: left, wanted, now: now, mayContinue: Bool.random(using: &random))
      #expect(plan.window.start < plan.window.end && plan.window.end <= now, "seed \(seed)")
      if let lost = plan.lost { answered.append(lost.from...lost.until) }
      // An end, a page in the middle, or nothing.
      left = plan.window
      switch Int.random(in: 0..<3, using: &random) {
      case 0: left?.page = "p"
      case 1:
        left?.page = nil
        answered.append(plan.window.start...plan.window.end)
      default: left?.page = "q"
      }
    }
    var reached: Int64?
    for range in answered.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let reached { #expect(range.lowerBound <= reached, "seed \(seed): a hole after \(reached)") }
      reached = max(reached ?? range.upperBound, range.upperBound)
    }
  }
}
