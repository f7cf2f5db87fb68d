import CryptoExtras
import Foundation
import StoreSimulators
import Support
import TestSupport

@testable import PurchaseLedger

/// Lives through a year: delivers what reaches the shop, and runs the nightly jobs as the commands do, each with a
/// ledger that it opens, against simulated stores over HTTP.
///
/// A kill takes the ledger's files as they are during a request, as the end of the process would leave them; the next
/// job opens those.
final class YearRun {
  static let key = try! _RSA.Signing.PrivateKey(keySize: .bits2048)

  /// What a job ended with.
  enum Ending: Hashable {
    case code(Int)
    case killed
    case failed(String)
  }

  let plan: YearPlan
  private let clock = SimulatedClock(at: YearPlan.start)
  private let machine: Machine
  private var jobsOfShop: NightlyJobs!
  private let verifier: EvidenceVerifier
  private var waiting: [YearPlan.Delivery]
  /// When the ledger could know that an order is to be acknowledged, and by how many jobs later.
  private var knownAt: [Int: (time: Int64, jobs: Int)] = [:]
  /// Jobs that could acknowledge: no fault, no kill.
  private var goodJobs: [Int64] = []
  private(set) var problems: [String] = []
  private(set) var jobs = 0
  private(set) var endings: [Ending: Int] = [:]

  private init(_ plan: YearPlan) throws {
    (self.plan, waiting) = (plan, plan.deliveries)
    machine = try Machine()
    let clock = clock
    var shapes = [EphemeralCA.Shape(), EphemeralCA.Shape()]
    shapes[0].leafValidity = 946_684_800_000..<plan.renewedAt + 30 * YearPlan.day
    shapes[1].leafValidity = plan.renewedAt - YearPlan.day..<4_102_444_800_000
    let authorities = try EphemeralCA.succession(shapes)
    var policy = LedgerPolicy()
    policy.environment = plan.environment
    var identity = StoreIdentity(
      rootCertificates: [authorities[0].rootCertificate], bundleID: ShopGenerator.bundleID,
      appAppleID: ShopGenerator.appAppleID, packageName: ShopGenerator.packageName)
    identity.googlePublicKey = Array(Self.key.publicKey.derRepresentation)
    identity.requiresApp = true
    identity = identity.bounded(by: policy)
    self.identity = identity
    verifier = try EvidenceVerifier(identity: identity)
    var apple = AppStoreSimulator.Setup(authorities[0])
    apple.authorities = [(.min, authorities[0]), (plan.renewedAt, authorities[1])]
    apple.environment = plan.environment
    apple.faults = plan.faults
    var play = PlaySimulator.Setup(Self.key)
    play.faults = plan.faults
    play.pageMax = 3
    simulators = (
      AppStoreSimulator(apple, clock: clock) { plan.truth.apple },
      PlaySimulator(play, clock: clock, orders: plan.truth.play)
    )
    let ledger = try Ledger.create(at: machine.path, policy: policy, clock: .fixed(YearPlan.start))
    try ledger.openAccounts(plan.accounts)
    ledger.close()
  }

  private let identity: StoreIdentity
  private let simulators: (apple: AppStoreSimulator, play: PlaySimulator)

  /// - Parameters:
  ///   - pace: How many nights have jobs.
  ///   - settings: Without a margin, the overlap or the repetition the year must lose something.
  ///   - byCommands: Whether the built command does the jobs, in processes of its own.
  static func live(
    _ plan: YearPlan, pace: Pace = .eventful, settings: PullSettings = .init(), byCommands: Bool = false
  ) async throws -> YearRun {
    let run = try YearRun(plan)
    let machine = run.machine
    let stores = try await SimulatedStores.start(run.simulators.apple, run.simulators.play, clock: run.clock) {
      machine.answer($1)
    }
    run.jobsOfShop = NightlyJobs(
      clock: run.clock, machine: machine, stores: stores, identity: run.identity, environment: plan.environment,
      settings: settings, command: byCommands ? try Command(built: "purchase-ledger") : nil)
    let result: Result<Void, any Error>
    do { result = .success(try await run.year(pace)) } catch { result = .failure(error) }
    try await stores.server.stop()
    try result.get()
    return run
  }

  /// Which nights have jobs.
  enum Pace {
    case every
    /// Those behind an event, one or two behind a job that did not end with 0, and one in three weeks.
    case eventful
  }

  private func year(_ pace: Pace) async throws {
    var busy = 0
    let eventful = plan.eventful
    for night in 0..<plan.days {
      let time = YearPlan.night(night)
      let hasNews = waiting.first.map { $0.at <= time } ?? false
      try await deliver(until: time)
      if plan.pauses.contains(where: { $0.contains(time) }) { continue }
      let isMarked = hasNews || eventful.contains(night)
      guard pace == .every || isMarked || busy > 0 || night % 21 == 0 else { continue }
      clock.advance(to: time)
      let ended = try await jobsOfNight(plan.kills.first { $0.night == night })
      busy = ended.allSatisfy { $0 == .code(0) } ? 0 : isMarked ? 2 : busy - 1
    }
    try await settle()
  }

  /// After the year the stores are well and the clock is right: in a few nights everything is in order.
  private func settle() async throws {
    for night in plan.days..<plan.days + 20 {
      clock.advance(to: YearPlan.night(night))
      try await deliver(until: clock.now)
      let ended = try await jobsOfNight(nil)
      if ended.allSatisfy({ $0 == .code(0) }) { return try compare() }
      if night == plan.days + 19 { problems.append("the jobs of the last night ended with \(ended)") }
    }
    try compare()
  }

  // MARK: What reaches the shop

  private func deliver(until time: Int64) async throws {
    guard let first = waiting.first, first.at <= time else { return }
    // The shop's clock is not off by years all the time that it sells.
    while let next = waiting.first, next.at <= time {
      waiting.removeFirst()
      clock.advance(to: next.at)
      let ahead = min(max(plan.ahead(at: clock.now), -YearPlan.day), YearPlan.day)
      let ledger = try Ledger.open(at: machine.path, policy: nil, clock: clock.ledgerClock(ahead: ahead))
      defer { ledger.close() }
      let account = next.account.map { plan.accounts[$0].id }
      let (bytes, channel): ([UInt8], Submission.Channel) = try piece(next)
      let booking = try await ledger.book(
        Submission(evidence: bytes, account: account, channel: channel), with: verifier)
      switch booking.outcome {
      case .accepted, .duplicate: note(next)
      case .quarantined:
        // Neither the device nor the store regards it as delivered, and it comes again.
        var again = next
        again.bytes = bytes
        again.at += 6 * YearPlan.hour
        waiting.append(again)
        waiting.sort { $0.at < $1.at }
      case .refused: problems.append("\(next) was refused: \(String(describing: booking.reason))")
      }
    }
  }

  private func piece(_ delivery: YearPlan.Delivery) throws -> ([UInt8], Submission.Channel) {
    let apple = simulators.apple
    if let bytes = delivery.bytes {
      if case .appleNotification = delivery.piece { return (bytes, .storeNotification) }
      if case .playMessage = delivery.piece { return (bytes, .storeNotification) }
      return (bytes, .app)
    }
    switch delivery.piece {
    case .transaction(let index):
      return (apple.signedTransaction(plan.truth.apple[index], at: delivery.at), .app)
    case .appleNotification(let index, let number):
      return (apple.notification(number, of: plan.truth.apple[index]), .storeNotification)
    case .signedPurchase(let index):
      return (try simulators.play.signedPurchase(plan.truth.play[index], at: delivery.at), .app)
    case .bareToken(let index): return (simulators.play.bareToken(plan.truth.play[index]), .app)
    case .playMessage(let index, let type):
      return (simulators.play.message(plan.truth.play[index], type: type, at: delivery.at), .storeNotification)
    }
  }

  private func note(_ delivery: YearPlan.Delivery) {
    let (index, jobs): (Int, Int)
    switch delivery.piece {
    case .signedPurchase(let order): (index, jobs) = (order, 1)
    // One asks, the next acknowledges.
    case .bareToken(let order), .playMessage(let order, type: 1): (index, jobs) = (order, 2)
    default: return
    }
    guard plan.truth.play[index].isPaid(at: delivery.at) else { return }
    let time = clock.now
    if let known = knownAt[index], known.jobs <= jobs, known.time <= time { return }
    if let known = knownAt[index], known.jobs < jobs { return }
    knownAt[index] = (time, jobs)
  }

  // MARK: Jobs

  private func jobsOfNight(_ kill: YearPlan.Kill?) async throws -> [Ending] {
    var found: [Ending] = []
    var left = kill
    for job in NightlyJobs.Job.allCases {
      let began = clock.now
      let before = machine.requests
      machine.arm(left)
      var ending: Ending
      do { ending = .code(try await jobsOfShop.run(job, ahead: plan.ahead(at: began))) } catch {
        ending = .failed("\(error)")
      }
      if machine.disarm() { (ending, left) = (.killed, nil) }
      if let kill = left { left?.request = max(0, kill.request - (machine.requests - before)) }
      jobs += 1
      endings[ending, default: 0] += 1
      found.append(ending)
      let isFaulty = plan.faults.contains { fault in
        fault.store == job.store && fault.times.overlaps(began..<max(clock.now, began + 1))
      }
      if job == .google, !isFaulty, ending != .killed { goodJobs.append(began) }
      if ending != .killed, ending != .code(0), ending != .code(1), !isFaulty {
        problems.append("\(job) at \(TimeText.minute(began)) ended with \(ending)")
      }
    }
    return found
  }

  // MARK: The end

  /// Compares the books with what happened.
  private func compare() throws {
    let now = clock.now
    let ledger = try Ledger.open(at: machine.path, policy: nil, clock: .fixed(now))
    defer { ledger.close() }
    func check(_ store: Store, _ id: String, isActive: Bool, _ what: String) throws {
      let key = TransactionKey(store: store, environment: plan.environment, id: id)
      let found = try ledger.entitlement(of: key)
      if (found?.status == .active) != isActive {
        let status = found.map { "\($0.status) \($0.reason)" } ?? "unknown"
        problems.append("\(store.rawValue) \(id) is \(status) in the ledger, and \(what) at the store")
      }
    }
    for purchase in plan.truth.apple {
      let fact = purchase.fact(at: now)
      try check(
        .apple, purchase.fact.transactionID, isActive: fact?.statement == .purchased, "\(fact?.statement as Any)")
    }
    for (index, order) in simulators.play.present.enumerated() {
      let void = order.void(at: now)
      let counts = order.kind == .test ? plan.environment == .sandbox : plan.environment == .production
      let isActive = order.isPaid(at: now) && void == nil && counts
      for id in order.transactionIDs {
        try check(
          .google, id, isActive: isActive, "\(order.kind), paid: \(order.isPaid(at: now)), void: \(void as Any)")
      }
      if void?.reason == 8, let deadline = order.deadline, let known = knownAt[index], order.kind != .test {
        let chances = goodJobs.filter { $0 > known.time && $0 < deadline - YearPlan.minute }.count
        if chances >= known.jobs {
          problems.append("\(order.token) was known for \(chances) good jobs and not acknowledged")
        }
      }
    }
    if try !ledger.verify().isClean { problems.append("the ledger does not verify") }
    let report = try Reconciler(ledger: ledger).run(apply: false) { problems.append("reconcile: \($0)") }
    if !report.isAgreed { problems.append("reconcile: \(report.remaining) remain, \(report.unknowns)") }
  }
}
