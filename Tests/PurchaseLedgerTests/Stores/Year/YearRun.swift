import CryptoExtras
import Foundation
import StoreSimulators
import Support
import Synchronization
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
  let settings: PullSettings
  let retry: RetryPolicy
  let clock = VirtualClock(at: YearPlan.start)
  private let machine: Machine
  private var stores: SimulatedStores!
  private let verifier: EvidenceVerifier
  private let identity: StoreIdentity
  private var waiting: [YearPlan.Delivery]
  /// When the ledger could know that an order is to be acknowledged, and by how many jobs later.
  private var knownAt: [Int: (time: Int64, jobs: Int)] = [:]
  /// Jobs that could acknowledge: no fault, no kill.
  private var goodJobs: [Int64] = []
  private(set) var problems: [String] = []
  private(set) var jobs = 0
  private(set) var endings: [Ending: Int] = [:]

  private init(_ plan: YearPlan, _ settings: PullSettings, _ retry: RetryPolicy) throws {
    (self.plan, self.settings, waiting) = (plan, settings, plan.deliveries)
    machine = try Machine()
    let clock = clock
    var retry = retry
    retry.sleep = { clock.advance(by: Int64($0 * 1000)) }
    self.retry = retry
    var shapes = [EphemeralCA.Shape(), EphemeralCA.Shape()]
    shapes[0].leafValidity = 946_684_800_000..<plan.renewedAt + 30 * YearPlan.day
    shapes[1].leafValidity = plan.renewedAt - YearPlan.day..<4_102_444_800_000
    let authorities = try EphemeralCA.succession(shapes)
    var identity = StoreIdentity(
      rootCertificates: [authorities[0].rootCertificate], bundleID: ShopGenerator.bundleID,
      appAppleID: ShopGenerator.appAppleID, packageName: ShopGenerator.packageName)
    identity.googlePublicKey = Array(Self.key.publicKey.derRepresentation)
    identity.requiresApp = true
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
    var policy = LedgerPolicy()
    policy.environment = plan.environment
    let ledger = try Ledger.create(at: machine.path, policy: policy, clock: .fixed(YearPlan.start))
    try ledger.openAccounts(plan.accounts)
    ledger.close()
  }

  private let simulators: (apple: AppStoreSimulator, play: PlaySimulator)

  /// - Parameters:
  ///   - settings: Without a margin, the overlap or the repetition the year must lose something.
  static func live(
    _ plan: YearPlan, settings: PullSettings = .init(),
    retry: RetryPolicy = .init(attemptsMax: 3, firstDelay: 1, delayMax: 20)
  ) async throws -> YearRun {
    let run = try YearRun(plan, settings, retry)
    let machine = run.machine
    run.stores = try await SimulatedStores.start(
      run.simulators.apple, run.simulators.play, clock: run.clock
    ) { _, answer in machine.answer(answer) }
    let result: Result<Void, any Error>
    do { result = .success(try await run.year()) } catch { result = .failure(error) }
    try await run.stores.server.stop()
    try result.get()
    return run
  }

  private func year() async throws {
    var isBusy = true
    for night in 0..<365 {
      let time = YearPlan.night(night)
      let hasNews = waiting.first.map { $0.at <= time } ?? false
      try await deliver(until: time)
      if plan.pauses.contains(where: { $0.contains(time) }) { continue }
      // Nights in which nothing can happen are left out but one in a week.
      let isMarked = marks.contains(night)
      guard hasNews || isBusy || isMarked || night % 7 == 0 else { continue }
      clock.advance(to: time)
      let kill = plan.kills.first { $0.night == night }
      let ended = try await jobsOfNight(kill)
      isBusy = hasNews || isMarked || ended.contains { $0 != .code(0) }
      if night % 3 != 0, plan.faults.contains(where: { $0.times.contains(time) && $0.times.count > 3 * YearPlan.day }) {
        isBusy = false
      }
    }
    try await settle()
  }

  /// The nights with an event at a store, and those behind.
  private lazy var marks: Set<Int> = {
    let apple = plan.truth.apple.flatMap { $0.notifications.map(\.at) }
    let play = plan.truth.play.flatMap { [$0.boughtAt, $0.paidAt, $0.deadline, $0.refund?.seenAt].compactMap(\.self) }
    let states = plan.clocks.map(\.from) + plan.faults.flatMap { [$0.times.lowerBound, $0.times.upperBound] }
    return Set(
      (apple + play + states).flatMap { time in
        let night = Int((time - YearPlan.start + YearPlan.day - 1) / YearPlan.day)
        return [night, night + 1]
      })
  }()

  /// After the year the stores are well and the clock is right: in a few nights everything is in order.
  private func settle() async throws {
    for night in 365..<385 {
      clock.advance(to: YearPlan.night(night))
      try await deliver(until: clock.now)
      let ended = try await jobsOfNight(nil)
      if night > 367, ended.allSatisfy({ $0 == .code(0) }) { return try compare() }
      if night == 384 { problems.append("the jobs of the last night ended with \(ended)") }
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
        again.at += 6 * YearPlan.hour
        waiting.append(again)
        waiting.sort { $0.at < $1.at }
      case .refused: problems.append("\(next) was refused: \(String(describing: booking.reason))")
      }
    }
  }

  private func piece(_ delivery: YearPlan.Delivery) throws -> ([UInt8], Submission.Channel) {
    let apple = simulators.apple
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

  private enum Job: CaseIterable {
    case google
    case apple
    case reconcile

    var store: Store? { self == .google ? .google : self == .apple ? .apple : nil }
  }

  private func jobsOfNight(_ kill: YearPlan.Kill?) async throws -> [Ending] {
    var found: [Ending] = []
    var left = kill
    for job in Job.allCases {
      let began = clock.now
      let before = machine.requests
      machine.arm(left)
      var ending: Ending
      do { ending = .code(try await run(job)) } catch {
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
      if case .failed(let reason) = ending, !isFaulty {
        problems.append("\(job) at \(ReconcileReport.time(began)): \(reason)")
      }
    }
    return found
  }

  private func run(_ job: Job) async throws -> Int {
    let ledgerClock = clock.ledgerClock(ahead: plan.ahead(at: clock.now))
    let ledger = try Ledger.open(at: machine.path, policy: nil, clock: ledgerClock)
    defer { ledger.close() }
    switch job {
    case .google:
      let client = try GooglePlayClient(
        packageName: ShopGenerator.packageName, credentials: simulators.play.credentials(tokenURI: stores.tokenURI),
        environment: plan.environment, verifier: try GoogleVerifier(identity: identity), clock: ledgerClock,
        baseURL: stores.url, rate: 1_000_000, retry: retry, settings: settings)
      return try await client.closing {
        try await StorePull(ledger: ledger, clock: ledgerClock, settings: settings).google(
          $0, everyone: false, acknowledge: true
        ) { _, _ in }
      }.needsPerson ? 1 : 0
    case .apple:
      let client = try AppStoreClient(
        credentials: simulators.apple.credentials(), environment: plan.environment,
        verifier: try AppleVerifier(identity: identity), clock: ledgerClock, baseURL: stores.url, rate: 1_000_000,
        retry: retry, settings: settings)
      return try await client.closing {
        try await StorePull(ledger: ledger, clock: ledgerClock, settings: settings).apple(
          $0, everyone: false, transactions: []
        ) { _, _ in }
      }.needsPerson ? 1 : 0
    case .reconcile: return try Reconciler(ledger: ledger).run(apply: true).isAgreed ? 0 : 1
    }
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
        try check(.google, id, isActive: isActive, "\(order.kind), paid: \(order.isPaid(at: now)), void: \(void as Any)")
      }
      if void?.reason == 8, let deadline = order.deadline, let known = knownAt[index], order.kind != .test {
        let chances = goodJobs.filter { $0 > known.time && $0 < deadline - YearPlan.minute }.count
        if chances >= known.jobs {
          problems.append("\(order.token) was known for \(chances) good jobs and not acknowledged")
        }
      }
    }
    if try !ledger.verify().isClean { problems.append("the ledger does not verify") }
    let report = try Reconciler(ledger: ledger).run(apply: false)
    if !report.isAgreed { problems.append("reconcile: \(report.remaining) remain, \(report.unknowns)") }
  }
}
