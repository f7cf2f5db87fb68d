import NIOCore
import Testing

@testable import MapStoreServer

/// Who gives way when there is no more.
@Suite struct FairBudgetTests {
  private static func budget(_ max: Int, of holder: Int = .max, patience: TimeAmount = .hours(1)) -> FairBudget {
    FairBudget(max: max, patience: patience) { if case .proxy = $0 { .max } else { holder } }
  }

  private static func shares(_ count: Int, _ budget: FairBudget, _ address: String, of size: Int) -> [FairBudget.Share]
  {
    (0..<count).map { _ in
      let share = budget.share(of: .address(address))
      #expect(share.take(size))
      return share
    }
  }

  /// The holder with most gives way to one with less, until both have the same.
  @Test func whoeverHasMostGivesWay() {
    let budget = Self.budget(1_000)
    let flood = Self.shares(10, budget, "10.0.0.1", of: 100)
    let other = Self.shares(5, budget, "10.0.0.2", of: 100)
    #expect(budget.total == 1_000 && budget.takenCount == 5)
    #expect(!budget.share(of: .address("10.0.0.2")).take(100) && budget.takenCount == 5)
    // What was taken away does not come back, and its end gives nothing back twice.
    #expect(!flood[0].take(1))
    _ = (flood, other)
  }

  @Test func sharesComeBack() {
    let budget = Self.budget(1_000)
    do {
      let held = Self.shares(12, budget, "10.0.0.1", of: 50) + Self.shares(10, budget, "10.0.0.2", of: 50)
      #expect(budget.total <= 1_000 && held.count == 22)
    }
    #expect(budget.total == 0)
  }

  /// Among many that all have as much as the new one, the one that has not moved for longest gives way; none that
  /// moves.
  @Test func whatDoesNotMoveGivesWay() {
    let steady = Self.budget(4)
    var held = (0..<4).flatMap { Self.shares(1, steady, "10.0.0.\($0)", of: 1) }
    #expect(!steady.share(of: .address("10.0.1.1")).take(1) && steady.takenCount == 0)
    let still = Self.budget(4, patience: .nanoseconds(0))
    held = (0..<4).flatMap { Self.shares(1, still, "10.0.0.\($0)", of: 1) }
    held[0].move()
    #expect(still.share(of: .address("10.0.1.1")).take(1) && still.takenCount == 1)
    // The second one was the longest without a move.
    #expect(held[0].take(0) && !held[1].take(0) && held[2].take(0))
  }

  @Test func whatIsKeptIsNotTaken() {
    let budget = Self.budget(1_000)
    let kept = Self.shares(10, budget, "10.0.0.1", of: 100)
    for share in kept { share.keep() }
    #expect(!budget.share(of: .address("10.0.0.2")).take(100) && budget.total == 1_000)
  }

  /// One holder has its own limit, but for one piece of any size. Connections of proxies are everybody's.
  @Test func holdersHaveLimits() {
    let budget = Self.budget(1_000, of: 100)
    let large = budget.share(of: .address("10.0.0.1"))
    #expect(large.take(700) && !budget.share(of: .address("10.0.0.1")).take(1))
    let small = budget.share(of: .address("10.0.0.2"))
    #expect(small.take(60) && !small.take(60) && small.take(40))
    final class Connection {}
    let connections = FairBudget.connections(
      {
        var limits = StoreLimits()
        limits.connectionsByAddress = 2
        return limits
      }())
    let own = Self.shares(2, connections, "10.0.0.1", of: 1)
    #expect(!connections.share(of: .address("10.0.0.1")).take(1) && own.count == 2)
    let proxies = (0..<9).map { _ in connections.share(of: .proxy(ObjectIdentifier(Connection()))) }
    #expect(proxies.allSatisfy { $0.take(1) })
  }

  /// 2,568 bodies of 40 addresses that never end: a notification, a sign-in and a purchase find room.
  @Test func unfinishedBodiesKeepNobodyOut() {
    let bodies = BodyBudgets(StoreLimits())
    var held: [FairBudget.Share] = []
    for lane in [bodies.notifications, bodies.small, bodies.large] {
      for address in 0..<40 {
        for _ in 0..<64 {
          let share = lane.share(of: .address("10.0.0.\(address)"))
          if share.take(16 << 10) { held.append(share) }
        }
      }
      #expect(lane.total <= StoreLimits().bodiesBytes / 2)
      #expect(lane.share(of: .address("10.1.0.0")).take(16 << 10))
    }
    #expect(bodies.total <= StoreLimits().bodiesBytes && held.count > 2_000)
  }
}
