import Foundation
import TestSupport
import Testing
import TileIndex

/// `kill -9` at random instants of a build. LONG_TESTS=full makes it 50 rounds.
@Suite(.ownThread, .long) struct BuildCrashTests {
  static let rounds = TestEffort.isFull ? 50 : 6

  /// Each round goes from one state of the manifest, which a killed build may have left half built, to the other.
  @Test func killedBuildsLeaveAConsistentCatalogAndTheNextOneFinishes() throws {
    let catalog = try BuiltCatalog()
    func first() throws {
      _ = try catalog.folder.writePlacedPicture("other.png", edge: 48)
      try catalog.writeVariety()
    }
    func second() throws {
      _ = try catalog.folder.writePlacedPicture("other.png", edge: 40)
      // One region changes within its edition, one gets other packs, one another edition.
      try catalog.writeVariety(last: #", "edition": "2""#, packs: 600_000)
    }
    try first()
    let whole = try catalog.build()
    #expect(whole.status == 0, "\(whole)")
    let atFirst = try catalog.contents()
    try second()
    let next = try catalog.build("--prune")
    #expect(next.status == 0, "\(next)")
    let atSecond = try catalog.contents()
    #expect(atFirst != atSecond)

    let seed: UInt64 = 23
    var random = SeededGenerator(seed: seed)
    var (killedInTime, kept) = (0, 0)
    for round in 0..<Self.rounds {
      let when: Comment = "seed \(seed), round \(round)"
      if round % 3 == 0 { try FileManager.default.removeItem(atPath: catalog.output) }
      let goesForward = round % 2 == 0
      try goesForward ? second() : first()
      for attempt in 0..<2 {
        let build = try Command(built: "tilecut").start(
          ["build", catalog.manifest, "-o", catalog.output, "--prune", "--progress", "plain"])
        if round % 3 == 0, attempt == 0 {
          // Certainly in progress, however fast the machine is.
          _ = build.wait { FileManager.default.fileExists(atPath: catalog.path(".tilecut/work/whole")) }
        } else {
          usleep(UInt32(Double.random(in: 0...max(whole.seconds, next.seconds), using: &random) * 1e6))
        }
        build.send(SIGKILL)
        if build.wait().ending == .signal(SIGKILL) { killedInTime += 1 }
        try catalog.expectConsistent(when)
      }
      let run = try catalog.build("--prune")
      #expect(run.status == 0, "\(when): \(run)")
      kept += run.stderrLines.count { $0.contains(": unchanged") }
      try catalog.expectConsistent(when)
      #expect(try catalog.contents() == (goesForward ? atSecond : atFirst), when)
      // Nothing unfinished is left in the builder's own folders either.
      for folder in ["work", "finished"] {
        #expect(try FileManager.default.contentsOfDirectory(atPath: catalog.path(".tilecut/\(folder)")).isEmpty, when)
      }
    }
    #expect(killedInTime > 0, "the builds were over before they were killed")
    #expect(kept > 0, "what a killed build had finished was never kept")
  }

  @Test func secondBuildInAFolderIsRefusedAsBusy() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(
      BuiltCatalog.region("a"), defaults: #""edition": "1", "sources": ["placed.png"], "zoom": [0, 12]"#)
    let first = try Command(built: "tilecut").start(["build", catalog.manifest, "-o", catalog.output])
    #expect(first.wait { FileManager.default.fileExists(atPath: catalog.path(".tilecut/work/a")) })
    let second = try catalog.build()
    expectRefusal(second, status: 75, naming: catalog.output, "another tilecut build")
    first.send(SIGKILL)
    #expect(first.wait().ending == .signal(SIGKILL))
    try catalog.write(BuiltCatalog.region("a"))
    #expect(try catalog.build().status == 0)
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func signalEndsABuildAndKeepsFinishedRegions(_ signal: (number: Int32, status: Int32)) throws {
    let catalog = try BuiltCatalog()
    try catalog.write(
      [BuiltCatalog.region("a"), BuiltCatalog.region("b", #", "zoom": [0, 12]"#)].joined(separator: ","))
    let build = try Command(built: "tilecut").start(
      ["build", catalog.manifest, "-o", catalog.output, "--jobs", "1", "--progress", "plain"])
    #expect(build.wait(timeout: 60) { build.stderr.contains("[1/2] a 1: built") })
    // The first signal asks the cut to stop, so the cut must have begun.
    #expect(build.wait { FileManager.default.fileExists(atPath: catalog.path(".tilecut/work/b")) })
    build.send(signal.number)
    let run = build.wait(timeout: 60)
    #expect(run.status == signal.status, "\(run)")
    #expect(catalog.names.isEmpty, "\(catalog.names)")
    try catalog.write([BuiltCatalog.region("a"), BuiltCatalog.region("b")].joined(separator: ","))
    let again = try catalog.build()
    #expect(again.stderr.contains("a 1: unchanged") && again.stderr.contains("b 1: built"), "\(again)")
  }
}
