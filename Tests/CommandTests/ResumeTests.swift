import Foundation
import TestSupport
import Testing

/// `tilecut cut --resume`: cuts that are killed and continued.
@Suite(.ownThread) struct ResumeTests {
  let folder: TemporaryFolder
  static let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")

  /// Two thousand tiles: a signal after the first progress comes long before the end.
  private static let zooms = "0-14"

  init() throws { folder = try TemporaryFolder() }

  private func start(_ output: String, _ options: [String]) throws -> ChildProcess {
    try Command(built: "tilecut").start(
      ["cut", Self.raster, "-o", output, "--progress", "json"] + options, in: folder.path)
  }

  /// All files of an output, by their names in it.
  private func contents(_ output: String) throws -> [String: Data] {
    guard output.hasSuffix("/") else { return ["": try folder.bytes(output)] }
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.file(output))
    return Dictionary(
      uniqueKeysWithValues: names.compactMap { name in
        FileManager.default.contents(atPath: folder.file(output + name)).map { (name, $0) }
      })
  }

  /// How many tiles were done at the first and the last line of progress.
  private func progress(_ run: CommandRun) -> (first: Int, last: Int)? {
    let numbers = run.stderrLines.compactMap { line -> Int? in
      guard line.hasPrefix("{") else { return nil }
      let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return object?["done"] as? Int
    }
    return numbers.first.map { ($0, numbers.last!) }
  }

  @Test(arguments: ["out.mbtiles", "out.pmtiles", "out.gpkg", "out/"]) func killedCutEndsTheSame(_ output: String)
    throws
  {
    try expectKilledCutsEndTheSame(output, ["--zoom", Self.zooms, "--format", "jpeg"], rounds: 1, seed: 3)
  }

  @Test(.long) func cutKilledAtManyInstantsEndsTheSame() throws {
    try expectKilledCutsEndTheSame("out.mbtiles", ["--zoom", "0-13"], rounds: TestEffort.isFull ? 100 : 20, seed: 4)
  }

  /// Each round kills a cut at two to four random instants, continues it each time, and then lets it end.
  private func expectKilledCutsEndTheSame(_ output: String, _ options: [String], rounds: Int, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let whole = output.hasSuffix("/") ? "whole/" : "whole-\(output)"
    let reference = try start(whole, options).wait(timeout: 120)
    #expect(reference.status == 0, "\(reference)")
    let expected = try contents(whole)
    let name = output.filter { $0 != "/" }
    let work = ".\(name).resume"
    var killed = 0
    var continued = 0
    for round in 0..<rounds {
      let when: Comment = "seed \(seed), round \(round)"
      for attempt in 0..<Int.random(in: 2...4, using: &random) {
        let process = try start(output, options + ["--resume"])
        if attempt == 0 {
          // Certainly in progress, however fast the machine is.
          _ = process.wait { FileManager.default.fileExists(atPath: folder.file("\(work)/checkpoint")) }
        } else {
          usleep(UInt32(Double.random(in: 0...reference.seconds / 2, using: &random) * 1e6))
        }
        process.send(SIGKILL)
        let run = process.wait()
        if run.stderr.contains("are there from before") { continued += 1 }
        if run.ending == .signal(SIGKILL) { killed += 1 }
        if run.status == 0 { break }
        #expect(run.ending == .signal(SIGKILL), "\(when): \(run)")
      }
      if !folder.names.contains(name) || folder.names.contains(work) {
        let last = try start(output, options + ["--resume"]).wait(timeout: 120)
        #expect(last.status == 0, "\(when): \(last)")
        if last.stderr.contains("are there from before") { continued += 1 }
      }
      #expect(try contents(output) == expected, when)
      #expect(folder.names.filter { $0.hasPrefix(".") } == [], when)
      try FileManager.default.removeItem(atPath: folder.file(output))
    }
    #expect(killed > 0 && continued > 0, "\(killed) kills, \(continued) cuts were continued")
  }

  /// Stops a cut by a signal after some progress.
  private func stoppedCut(_ output: String = "out.mbtiles", _ options: [String] = []) throws -> CommandRun {
    let process = try start(output, ["--zoom", Self.zooms, "--resume"] + options)
    _ = process.wait { process.stderr.split(separator: "\n").count >= 2 }
    process.send(SIGTERM)
    let run = process.wait()
    #expect(run.status == 143, "\(run)")
    #expect(run.stderr.contains("tiles are kept; --resume continues"), "\(run)")
    #expect(folder.names.contains(".\(output).resume") && !folder.names.contains(output))
    return run
  }

  @Test func stoppedCutContinuesWhereItStopped() throws {
    let before = try #require(progress(stoppedCut()))
    let run = try start("out.mbtiles", ["--zoom", Self.zooms, "--resume"]).wait()
    #expect(run.status == 0, "\(run)")
    let after = try #require(progress(run))
    #expect(after.first >= before.last, "\(before) \(after)")
    try expectValid(folder.file("out.mbtiles"))
    #expect(folder.names == ["out.mbtiles"])
  }

  @Test func otherOptionsOrSourcesAreRefused() throws {
    _ = try stoppedCut()
    let other = try tilecut(
      "cut", Self.raster, "-o", "out.mbtiles", "--zoom", "0-11", "--resume", in: folder.path)
    expectRefusal(other, status: 64, naming: "--zoom was \(Self.zooms), and now it is 0-11", "--force")
    #expect(!other.stderr.contains("from before"), "\(other)")
    let picture = try folder.writePlacedPicture()
    let source = try tilecut("cut", picture, "-o", "out.mbtiles", "--zoom", Self.zooms, "--resume", in: folder.path)
    expectRefusal(source, status: 64, naming: "is not the same as \(picture)")
    #expect(folder.names.contains(".out.mbtiles.resume") && !folder.names.contains("out.mbtiles"))
    // Without --resume nobody knows what is wanted.
    let unclear = try tilecut("cut", picture, "-o", "out.mbtiles", "--zoom", "0-2", in: folder.path)
    expectRefusal(unclear, status: 73, naming: "continue with --resume, or start anew with --force")
    let anew = try tilecut("cut", picture, "-o", "out.mbtiles", "--zoom", "0-2", "--force", in: folder.path)
    #expect(anew.status == 0 && anew.stderr.contains("were removed"), "\(anew)")
    #expect(folder.names == ["out.mbtiles", "placed.pgw", "placed.png", "placed.prj"])
  }

  @Test func sourceThatChangedIsRefused() throws {
    let picture = try folder.writePlacedPicture(edge: 400)
    let words = ["cut", picture, "-o", "out.mbtiles", "--zoom", "0-12", "--resume", "--progress", "json"]
    let process = try Command(built: "tilecut").start(words, in: folder.path)
    _ = process.wait { process.stderr.split(separator: "\n").count >= 2 }
    process.send(SIGTERM)
    #expect(process.wait().status == 143)
    try folder.write("placed.prj", "EPSG:4258")
    let run = try Command(built: "tilecut").run(words, in: folder.path)
    expectRefusal(run, status: 64, naming: "the source \(picture) has changed since")
  }

  @Test func twoCutsOfOneOutputDoNotMeet() throws {
    let first = try start("out.mbtiles", ["--zoom", "0-15", "--resume"])
    _ = first.wait { first.stderr.split(separator: "\n").count >= 1 }
    // It stays in the middle, however long the others take.
    first.send(SIGSTOP)
    for options in [["--resume"], ["--force", "--resume"], [], ["--force"]] {
      let second = try start("out.mbtiles", ["--zoom", "0-15"] + options).wait()
      #expect(second.status == 75 && second.stderr.contains("another tilecut cuts it with --resume"), "\(second)")
    }
    first.send(SIGTERM)
    first.send(SIGCONT)
    #expect(first.wait().status == 143)
  }

  /// The disk fills up; with more room the cut goes on.
  @Test(.enabled(if: SmallDisk.isAvailable, "no small disk can be mounted here (unshare, mount)"))
  func cutThatFilledTheDiskGoesOn() throws {
    let whole = folder.file("whole.mbtiles")
    #expect(try tilecut("cut", Self.raster, "-o", whole, "--zoom", "0-12", "--format", "jpeg").status == 0)
    let disk = try TemporaryFolder()
    let line = #"""
      head -c 9400000 /dev/zero > filler; "$@"; echo "status $?"; ls -A; rm filler
      "$@"; echo "status $?"; ls -A; cmp out.mbtiles "$WHOLE" && echo same
      """#
    let run = try #require(
      try SmallDisk.run(
        in: disk.path, kilobytes: 10_000, "WHOLE='\(whole)'; " + line,
        [
          Command(built: "tilecut").path, "cut", Self.raster, "-o", "out.mbtiles", "--zoom", "0-12", "--format", "jpeg",
          "--resume", "--progress", "none",
        ]))
    let lines = run.stdoutLines
    #expect(lines.first == "status 74" && lines.suffix(3) == ["status 0", "out.mbtiles", "same"], "\(run)")
    #expect(run.stderr.contains("the disk is full"), "\(run)")
  }

  /// One byte more behind the program is another build.
  @Test func anotherBuildOfTheSameVersionIsRefused() throws {
    let copy = folder.file("tilecut-other")
    // By a process of its own: a program cannot be executed while it is open for writing, and a child that another test
    // starts meanwhile has a copy of our descriptors until it executes its program.
    let made = try Command(path: "/bin/sh").run([
      "-c", "cp \"$0\" \"$1\" && printf 0 >> \"$1\"", Command(built: "tilecut").path, copy,
    ])
    #expect(made.status == 0, "\(made)")
    _ = try stoppedCut()
    let run = try Command(path: copy).run(
      ["cut", Self.raster, "-o", "out.mbtiles", "--zoom", Self.zooms, "--resume"], in: folder.path)
    expectRefusal(run, status: 64, naming: "it was made by tilecut 0.1.0+", "and this is 0.1.0+")
  }

  #if os(Linux)
    /// An upgraded encoder may compress otherwise: one byte more behind the library stands for another build of it.
    @Test(arguments: ["libdeflate", "libjpeg", "libwebp"]) func anUpgradedEncoderIsRefused(_ name: String) throws {
      let listed = try run("ldd", [Command(built: "tilecut").path])
      let lines = try #require(listed).output.split(separator: "\n")
      let line = try #require(lines.first { $0.contains("\(name).so") })
      let words = line.split(separator: " ")
      let library = folder.file("lib/\(words[0].drop { $0 == "\t" })")
      try FileManager.default.createDirectory(atPath: folder.file("lib"), withIntermediateDirectories: true)
      try FileManager.default.copyItem(
        at: URL(fileURLWithPath: String(words[2])).resolvingSymlinksInPath(), to: URL(fileURLWithPath: library))
      let file = try #require(FileHandle(forWritingAtPath: library))
      try file.seekToEnd()
      try file.write(contentsOf: Data([0]))
      try file.close()
      _ = try stoppedCut()
      let cut = ["cut", Self.raster, "-o", "out.mbtiles", "--zoom", Self.zooms, "--resume"]
      let other = try Command(built: "tilecut").run(
        cut, in: folder.path, environment: ["LD_LIBRARY_PATH": folder.file("lib")])
      expectRefusal(other, status: 64, naming: "it was made with another \(name)", "--force")
      #expect(try Command(built: "tilecut").run(cut, in: folder.path).status == 0)
    }
  #endif

  @Test func resumeIsNotForAppending() throws {
    let run = try tilecut("cut", Self.raster, "--append", "out.mbtiles", "--resume", in: folder.path)
    expectRefusal(run, status: 64, naming: "--resume is for new bundles")
  }
}
