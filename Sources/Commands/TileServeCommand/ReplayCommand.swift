import ArgumentParser
import CommandSupport
public import PrefetchReplay

/// `tileserve replay`: measures hit rates and waits of a cache and a policy on recorded or generated map sessions.
struct ReplayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tileserve replay",
    abstract: "Replays recorded map sessions, and counts the tiles that were missing on the screen.",
    discussion: """
      TRACE is a file of one session or a folder of them (.jsonl; docs/explanation/prefetch.md describes the format). \
      Without --bundle tiles only cost memory and time: 256 KiB each, or 65 KiB with --tier palette, and 2.5 ms on \
      each of two loaders, or 82 ms on each of six connections with --source network. Time is virtual.

      blank: frames (60 a second) times tiles missing on the screen. hard: those of them with nothing coarser or finer \
      to draw instead. The table ends with the means of other policies on the same sessions.

      With --bundle tiles are really read and decoded, in virtual time, or with --speed by as many threads as the \
      source has loaders, by the clock. Tiles that the bundle does not have are counted separately, as absent. A bundle \
      without sessions is asked how many of its tiles have at most 256 colours.

      Exit codes: 0 done; 64 wrong usage; 65 a file is not a session, or the bundle is damaged; 66 a file is not \
      there; 74 the output cannot be written.
      """)

  @Argument(help: ArgumentHelp("Sessions: files, and folders of them.", valueName: "trace"), completion: .file())
  var traces: [String] = []

  @Option(help: ArgumentHelp("Replay fake sessions: a seed, or SEED:COUNT for several.", valueName: "seed"))
  var synthetic: SyntheticArgument?

  @Option(
    help: ArgumentHelp(
      "Read and decode the tiles of a bundle, in whose middle each session is placed.", valueName: "file"),
    completion: .file())
  var bundle: String?

  @Option(
    help: ArgumentHelp(
      """
      With --bundle: real threads and the real clock, with a map that moves so many times faster than recorded; takes \
      as long as the sessions and the policies to compare with.
      """,
      valueName: "times"))
  var speed: Double?

  @Option(help: "The screen: phone (1170 x 2532 pixels) or desktop (1920 x 1080).")
  var device = ReplayDevice.phone

  @Option(help: "Memory for tiles; MB are a million bytes, MiB 1,048,576.")
  var budget = BytesArgument(bytes: 64_000_000)

  @Option(help: "How tiles are kept: rgba, or palette, which takes a quarter where a tile has at most 256 colours.")
  var tier = ReplaySettings.Tier.rgba

  @Option(
    help: """
      What decides which tiles are loaded and kept: default; lru or distance, which load nothing ahead; zoomring, a \
      simple one to compare with; oracle or belady, which know the future; eviction: no prefetching, tiles load at \
      once, the budget is for tiles off the screen, and the hits of each eviction policy are printed.
      """)
  var policy = PolicyArgument.replay(.default)

  @Option(
    help: """
      Where virtual tiles come from: local, network, or metered, a network that charges per tile: at most 1.5 times as \
      many tiles are loaded as without prefetch.
      """)
  var source = SourceArgument.local

  @Flag(help: "Make it harder: drags are even and twice as fast, zooms happen at once, unannounced.")
  var harsh = false

  @Flag(help: "Print JSON: sessions and total, whose counts are sums.")
  var json = false

  @OptionGroup var progress: ProgressOption

  func validate() throws {
    if let speed {
      guard bundle != nil else { throw ValidationError("--speed needs --bundle FILE: virtual tiles take no time") }
      guard (0.1...100).contains(speed) else { throw ValidationError("--speed is a number from 0.1 to 100") }
    }
    if case .eviction = policy, bundle != nil {
      throw ValidationError("--policy eviction needs no --bundle: nothing is read")
    }
    if traces.isEmpty, synthetic == nil, bundle == nil || speed != nil {
      throw ValidationError("name sessions to replay, or --synthetic SEED")
    }
  }

  func run() throws {
    if traces.isEmpty, synthetic == nil, let bundle {
      let census = try PaletteCensus(bundle)
      return printText(json ? census.json : census.text)
    }
    let sessions = try RecordedSession.read(traces) + (synthetic?.sessions(bundle: bundle) ?? [])
    var settings = ReplaySettings()
    settings.device = device
    settings.budget = budget.bytes
    settings.tier = tier
    settings.source = source == .local ? .local : .network
    settings.isHarsh = harsh
    settings.isMetered = source == .metered
    guard case .replay(let policy) = policy else {
      let report = settings.replayEviction(sessions)
      return printText(json ? report.json : report.text)
    }
    // The table compares with these; JSON has the policy alone.
    let others: [ReplayPolicy] = json ? [] : [.lru, .belady, .oracle].filter { $0 != policy }
    let reports = try progress.showing("sessions", of: sessions.count * (1 + others.count)) { shown in
      var done = 0
      return try ([policy] + others).map { policy in
        guard let bundle else { return settings.replay(sessions, policy: policy) }
        return try settings.replay(sessions, policy: policy, bundle: bundle, speed: speed) {
          done += 1
          shown(done)
        }
      }
    }
    if json { return printText(reports[0].json) }
    printText(
      reports[0].text(policy: policy.rawValue, others: Array(zip(others.map(\.title), reports.dropFirst()))))
  }
}

/// A policy, or all eviction policies alone.
enum PolicyArgument: ExpressibleByArgument {
  case replay(ReplayPolicy)
  case eviction

  init?(argument: String) {
    if argument == "eviction" {
      self = .eviction
    } else {
      guard let policy = ReplayPolicy(rawValue: argument) else { return nil }
      self = .replay(policy)
    }
  }

  static var allValueStrings: [String] { ReplayPolicy.allCases.map(\.rawValue) + ["eviction"] }
  static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
  var defaultValueDescription: String { if case .replay(let policy) = self { policy.rawValue } else { "eviction" } }
}

enum SourceArgument: String, ExpressibleByArgument, CaseIterable {
  case local, network, metered
}

extension ReplayPolicy {
  /// The names in the table of the policies to compare with.
  fileprivate var title: String {
    switch self {
    case .lru: "no prefetch, LRU"
    case .belady: "no prefetch, Belady"
    case .distance, .zoomring, .default, .oracle: rawValue
    }
  }
}
extension ReplayDevice: ExpressibleByArgument {}
extension ReplaySettings.Tier: ExpressibleByArgument {}

/// `SEED` or `SEED:COUNT`.
struct SyntheticArgument: ExpressibleByArgument {
  let seed: UInt64
  let count: Int

  init?(argument: String) {
    let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let seed = UInt64(parts[0]), let count = parts.count == 2 ? Int(parts[1]) : 1, (1...10_000).contains(count)
    else { return nil }
    self.seed = seed
    self.count = count
  }

  /// - Parameter bundle: the area of the sessions; anywhere when nil.
  func sessions(bundle: String?) throws -> [RecordedSession] {
    try (0..<count).map { number in
      let seed = seed &+ UInt64(number)
      return try bundle.map { try SessionGenerator.session(seed: seed, bundle: $0) }
        ?? SessionGenerator.session(seed: seed)
    }
  }
}
