import Accounts
import Foundation
import PurchaseLedger
import StoreSimulators

/// Measures how fast evidence is verified, recorded, recognised and reconciled, and OpenSSL's bare signatures in the
/// same run.
///
///     LEDGER_BENCH_COUNT    transactions (1,000,000)
///     LEDGER_BENCH_FOLDER   where files go (a temporary folder; about 5 GB for a million)
///     LEDGER_BENCH_STAGES   some of "signed unsigned answers" (all)
@main
struct LedgerBench {
  static func main() async throws {
    if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "reconcile" {
      return try reconcile(CommandLine.arguments[2])
    }
    let environment = ProcessInfo.processInfo.environment
    let count = environment["LEDGER_BENCH_COUNT"].flatMap { Int($0) } ?? 1_000_000
    let folder = URL(
      fileURLWithPath: environment["LEDGER_BENCH_FOLDER"] ?? NSTemporaryDirectory()
    ).appendingPathComponent("ledger-bench-\(ProcessInfo.processInfo.processIdentifier)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let shop = BenchShop(authority: try EphemeralCA(), count: count)

    let stages = environment["LEDGER_BENCH_STAGES"]?.split(separator: " ") ?? ["signed", "unsigned", "answers"]
    if stages.contains("signed") { try await signed(shop, folder) }
    if stages.contains("unsigned") {
      say("making \(count) unsigned answers ...")
      let file = "\(folder)/unsigned.jsonl"
      try shop.writeUnsigned(to: file)
      try await importing("unsigned, recorded", file, into: open("\(folder)/b.sqlite", shop), shop, wanted: 20_000)
      try? FileManager.default.removeItem(atPath: file)
    }
    if stages.contains("answers") {
      say("making \(count) answers of verifyReceipt ...")
      let file = "\(folder)/answers.jsonl"
      try shop.writeAnswers(to: file)
      try await importing("verifyReceipt, recorded", file, into: open("\(folder)/c.sqlite", shop), shop, wanted: 20_000)
    }
    report("peak resident memory of all this", Memory.peakMegabytes, "MB")
  }

  private static func signed(_ shop: BenchShop, _ folder: String) async throws {
    try await verify(shop)
    let file = "\(folder)/signed.jsonl"
    say("making \(shop.count) signed transactions ...")
    try shop.writeSigned(to: file)
    let ledger = try open("\(folder)/a.sqlite", shop)
    try await importing("signed, verified, recorded", file, into: ledger, shop, wanted: 8000)
    try await importing("the same bytes again", file, into: ledger, shop, wanted: 60_000, describesBooked: false)
    try await importing("the same bytes again, each described (--json)", file, into: ledger, shop)
    try await reconcile(ledger, file, shop)
    try lookUp(ledger, shop)
    let clean = try measured { try ledger.verify().isClean }
    say("ledger verify: \(clean.value ? "clean" : "NOT CLEAN"), \(text(clean.seconds)) s")
    try? FileManager.default.removeItem(atPath: file)
  }

  /// The peer is measured repeatedly, because a shared machine's speed varies.
  @discardableResult
  private static func reportPeer() -> Double? {
    let peer = OpenSSL.verifiesPerSecond()
    if let peer { report("openssl speed ecdsap256, verify", peer, "a second, one core") }
    return peer
  }

  /// One thread, with a cached certificate chain.
  private static func verify(_ shop: BenchShop) async throws {
    let peer = reportPeer()
    let verifier = try EvidenceVerifier(identity: shop.identity)
    let pieces = try (0..<2000).map { try shop.authority.transaction(shop.purchase($0), bundleID: BenchShop.bundleID) }
    for piece in pieces.prefix(50) { _ = try await verifier.verify(piece, at: BenchShop.now) }
    var best = 0.0
    for _ in 0..<5 {
      let start = Memory.processorSeconds
      for piece in pieces { _ = try await verifier.verify(piece, at: BenchShop.now) }
      best = max(best, Double(pieces.count) / (Memory.processorSeconds - start))
    }
    report("signed transactions verified and decoded, warm chain", best, "a core-second", wanted: 10_000)
    if let peer { say("  that is \(text(best / peer)) of OpenSSL's bare signatures") }
  }

  private static func open(_ path: String, _ shop: BenchShop) throws -> Ledger {
    let ledger = try Ledger.create(at: path, policy: LedgerPolicy(), clock: .fixed(BenchShop.now))
    try ledger.openAccounts((0..<shop.accountCount).map { (BenchShop.accountID($0), BenchShop.token($0)) })
    return ledger
  }

  private static func importing(
    _ name: String, _ file: String, into ledger: Ledger, _ shop: BenchShop, wanted: Double? = nil,
    describesBooked: Bool = true
  ) async throws {
    reportPeer()
    let importer = EvidenceImporter(
      into: ledger, verifier: try EvidenceVerifier(identity: shop.identity), identity: shop.identity,
      clock: .fixed(BenchShop.now), defaults: .init(describesBooked: describesBooked))
    var outcomes: [Booking.Outcome: Int] = [:]
    let (start, before) = (ContinuousClock.now, Memory.processorSeconds)
    try await importer.run([file]) { lines in
      for line in lines { outcomes[line.booking.outcome, default: 0] += 1 }
    } progress: { progress in
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      say("  \(progress.pieces) in \(text(seconds)) s")
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    report("import, \(name)", Double(shop.count) / seconds, "a second", wanted: wanted)
    let processor = (Memory.processorSeconds - before) / Double(shop.count) * 1e6
    let counts = outcomes.map { "\($0.value) \($0.key)" }.sorted().joined(separator: ", ")
    say("  \(counts); \(text(processor)) us of processor each")
  }

  private static func reconcile(_ ledger: Ledger, _ file: String, _ shop: BenchShop) async throws {
    let importer = EvidenceImporter(
      into: ledger, verifier: try EvidenceVerifier(identity: shop.identity), identity: shop.identity,
      clock: .fixed(BenchShop.now))
    let filled = try await timed { try await SnapshotReader(importer, snapshot: Snapshot(of: ledger)).read(file) }
    say("snapshot filled with \(filled.value.pieces) in \(text(filled.seconds)) s")
    // A separate process, so that its memory is that of reconciling.
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = ["reconcile", ledger.path]
    try process.run()
    process.waitUntilExit()
  }

  private static func reconcile(_ path: String) throws {
    let ledger = try Ledger.open(at: path, policy: nil, clock: .fixed(BenchShop.now))
    for _ in 0..<3 {
      let run = try measured { try Reconciler(ledger: ledger).run(apply: false) }
      say(
        """
        reconcile, \(run.value[.matched]) matched: \(text(run.seconds)) s, \
        \(run.value.isAgreed ? "no differences" : "DIFFERENCES")
        """
      )
    }
    report("  peak resident memory of its process", Memory.peakMegabytes, "MB (wanted for a million: 2 s and 200 MB)")
  }

  private static func lookUp(_ ledger: Ledger, _ shop: BenchShop) throws {
    let count = 100_000
    var found = 0
    let before = Memory.processorSeconds
    let run = try measured {
      for index in 0..<count {
        found += try ledger.entitlements(of: BenchShop.accountID((index &* 7919) % shop.accountCount)).count
      }
    }
    report("entitlements of an account", Double(count) / run.seconds, "look-ups a second", wanted: 40_000)
    let processor = (Memory.processorSeconds - before) / Double(count) * 1e6
    say("  \(found / count) grants each; \(text(processor)) us of processor")
    let single = try measured {
      for index in 0..<count {
        let account = (index &* 7919) % shop.accountCount
        guard try ledger.owner(of: "region.\(account % 170)", by: BenchShop.accountID(account)) != nil else { continue }
        found += 1
      }
    }
    report("who owns a product, by account", Double(count) / single.seconds, "look-ups a second")
  }

  private static func report(_ name: String, _ value: Double, _ unit: String, wanted: Double? = nil) {
    let verdict = wanted.map { value >= $0 ? " (wanted \(Int($0)): ok)" : " (wanted \(Int($0)): NOT MET)" } ?? ""
    say("\(name): \(value >= 100 ? "\(Int(value))" : text(value)) \(unit)\(verdict)")
  }

  /// Unbuffered, also into a pipe.
  private static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  private static func text(_ number: Double) -> String { String(format: "%.2f", number) }

  private static func measured<Value>(_ work: () throws -> Value) rethrows -> (value: Value, seconds: Double) {
    let start = ContinuousClock.now
    let value = try work()
    return (value, (ContinuousClock.now - start) / .seconds(1))
  }

  private static func timed<Value>(_ work: () async throws -> Value) async rethrows -> (value: Value, seconds: Double) {
    let start = ContinuousClock.now
    let value = try await work()
    return (value, (ContinuousClock.now - start) / .seconds(1))
  }
}

/// The process's use of time and memory.
enum Memory {
  /// User and system time of all threads in seconds.
  static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static var peakMegabytes: Double { status("VmHWM") }
  static var residentMegabytes: Double { status("VmRSS") }

  /// 0 where /proc is missing.
  private static func status(_ name: String) -> Double {
    let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
    return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Double($0) }
      .map { $0 / 1024 } ?? 0
  }
}

/// The peer: `openssl speed`.
enum OpenSSL {
  /// P-256 verifications per second on one core; nil without openssl.
  static func verifiesPerSecond() -> Double? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl", "speed", "-seconds", "3", "ecdsap256"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    // It measures time with a signal, which Swift's threads block in themselves and their child processes.
    var all = sigset_t()
    var mine = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_UNBLOCK, &all, &mine)
    let hasStarted: Void? = try? process.run()
    pthread_sigmask(SIG_SETMASK, &mine, nil)
    guard hasStarted != nil else { return nil }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard let line = text.split(separator: "\n").last(where: { $0.contains("nistp256") }) else {
      print("openssl is missing: its figure is left out")
      return nil
    }
    return line.split(separator: " ").last.flatMap { Double($0) }
  }
}
