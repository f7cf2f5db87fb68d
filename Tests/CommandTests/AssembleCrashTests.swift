import Foundation
import TestSupport
import Testing

/// `kill -9`, and signals that are handled, at random instants of commands that write one file. LONG_TESTS=full makes
/// it 50 rounds for each command.
@Suite(.ownThread, .long) struct AssembleCrashTests {
  static let rounds = TestEffort.isFull ? 50 : 10

  /// A command that writes a file from others.
  enum Verb: String, CaseIterable, Sendable {
    case extract
    case merge
    case convert
    case diff
    case apply
    /// OLD itself becomes NEW.
    case applyInPlace
  }

  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.writeBundle("old.mbtiles", zooms: 0...5, seed: 1)
    try folder.writeBundle("new.mbtiles", zooms: 0...5, seed: 2)
    try folder.writeBundle("more.mbtiles", zooms: 6...6, seed: 3)
  }

  private func start(_ verb: Verb) throws -> ChildProcess {
    let words =
      switch verb {
      case .extract: ["extract", "more.mbtiles", "--bounds", "-180,-80,150,80"]
      case .merge: ["merge", "old.mbtiles", "more.mbtiles", "new.mbtiles", "--on-conflict", "last"]
      case .convert: ["convert", "more.mbtiles", "out", "--force"]
      case .diff: ["diff", "old.mbtiles", "new.mbtiles"]
      case .apply: ["apply", "the.patch", "old.mbtiles"]
      case .applyInPlace: ["apply", "the.patch", "out"]
      }
    let output = verb == .convert ? [] : ["-o", "out", "--force"]
    return try Command(built: "tilecut").start(words + output, in: folder.path)
  }

  /// Prepares the output as a round begins; nil for no file.
  private func prepare(_ verb: Verb, _ round: Int) throws -> Data? {
    let before: Data? =
      verb == .applyInPlace ? try folder.bytes("old.mbtiles") : round % 2 == 0 ? nil : Data("the previous file".utf8)
    try? FileManager.default.removeItem(atPath: folder.file("out"))
    if let before { try folder.write("out", bytes: Array(before)) }
    return before
  }

  private var output: Data? { FileManager.default.contents(atPath: folder.file("out")) }
  private var hidden: [String] { folder.names.filter { $0.hasPrefix(".") } }
  private var visible: [String] { folder.names.filter { !$0.hasPrefix(".") } }

  /// Runs the command once undisturbed.
  private func reference(_ verb: Verb) throws -> (bytes: Data, seconds: Double) {
    if verb == .apply || verb == .applyInPlace {
      let made = try tilecut("diff", "old.mbtiles", "new.mbtiles", "-o", "the.patch", in: folder.path)
      #expect(made.status == 0, "\(made)")
    }
    _ = try prepare(verb, 0)
    let run = try start(verb).wait()
    #expect(run.status == 0, "\(run)")
    if verb != .diff { try expectValid(folder.file("out")) }
    return (try folder.bytes("out"), run.seconds)
  }

  @Test(arguments: Verb.allCases) func killLeavesTheOutputCompleteOrUnchanged(_ verb: Verb) throws {
    let seed: UInt64 = 31
    var random = SeededGenerator(seed: seed)
    let (whole, seconds) = try reference(verb)
    let names = visible
    var killedInTime = 0
    for round in 0..<Self.rounds {
      let when: Comment = "seed \(seed), round \(round)"
      let before = try prepare(verb, round)
      let process = try start(verb)
      if round % 5 == 0 {
        // Certainly in progress, however fast the machine is.
        _ = process.wait { !hidden.isEmpty }
      } else {
        usleep(UInt32(Double.random(in: 0...seconds, using: &random) * 1e6))
      }
      process.send(SIGKILL)
      if process.wait().ending == .signal(SIGKILL) { killedInTime += 1 }
      let found = output
      #expect(found == before || found == whole, "\(when): \(found?.count ?? -1) bytes")
      #expect(visible == names.filter { $0 != "out" || found != nil }, when)

      // The next run succeeds and removes what was left. An apply in place that was complete is not repeated.
      if verb == .applyInPlace, found == whole { continue }
      let again = try start(verb).wait()
      #expect(again.status == 0, "\(when): \(again)")
      #expect(output == whole && visible == names && hidden.isEmpty, "\(when): \(folder.names)")
    }
    #expect(killedInTime > 0, "all was over before it was killed")
  }

  @Test(arguments: Verb.allCases, [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func signalsEndACommandWithTheirStatusAndLeaveNoFiles(_ verb: Verb, _ signal: (number: Int32, status: Int32)) throws {
    let (whole, _) = try reference(verb)
    // The command may end before the signal comes.
    for attempt in 0..<20 {
      let before = try prepare(verb, attempt)
      let process = try start(verb)
      _ = process.wait { !hidden.isEmpty }
      process.send(signal.number)
      let run = process.wait()
      #expect(hidden.isEmpty, "\(run): \(folder.names)")
      // It ended before, or the signal came in the last moment, when it kills as usual.
      if run.status == 0 || run.ending == .signal(signal.number) {
        #expect(output == whole)
        continue
      }
      #expect(run.status == signal.status && documentedStatuses.contains(signal.status), "\(run)")
      #expect(run.stdout.isEmpty && run.stderr.isEmpty, "\(run)")
      #expect(output == before || output == whole)
      return
    }
    Issue.record("the commands were over before they were stopped")
  }
}
