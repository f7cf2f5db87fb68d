import Foundation
import TestSupport
import Testing

/// A cut that is stopped or killed leaves the previous output.
@Suite(.ownThread) struct InterruptionTests {
  let folder: TemporaryFolder
  let output: String

  init() throws {
    folder = try TemporaryFolder()
    output = try folder.write("out.mbtiles", "the previous bundle")
  }

  /// Starts a cut of so many tiles that it cannot end within the test.
  private func startLongCut(_ options: String...) throws -> ChildProcess {
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    return try Command(built: "tilecut").start(
      ["cut", raster, "-o", output, "--force", "--zoom", "0-17", "--threads", "1"] + options)
  }

  /// The names of the files of a running cut, other than the target.
  private var partialFiles: [String] { folder.names.filter { $0 != "out.mbtiles" } }

  /// Waits until the cut has its temporary file, and has printed this many lines of progress.
  private func wait(for cut: ChildProcess, progressLines: Int) {
    let came = cut.wait(timeout: 60) {
      !partialFiles.isEmpty && cut.stderr.split(separator: "\n").count >= progressLines
    }
    #expect(came, "the cut did not come that far: \(cut.stderr)")
  }

  private func expectPreviousBundle() throws {
    #expect(try folder.bytes("out.mbtiles") == Data("the previous bundle".utf8))
  }

  @Test func killedCutLeavesThePreviousBundle() throws { try expectKillLeavesThePreviousBundle(progressLines: 0) }

  /// In its first tiles, and further on.
  @Test(.long, arguments: [1, 4]) func cutKilledLaterLeavesThePreviousBundle(progressLines: Int) throws {
    try expectKillLeavesThePreviousBundle(progressLines: progressLines)
  }

  private func expectKillLeavesThePreviousBundle(progressLines: Int) throws {
    let cut = try startLongCut("--progress", "json")
    wait(for: cut, progressLines: progressLines)
    cut.send(SIGKILL)
    #expect(cut.wait().ending == .signal(SIGKILL))
    try expectPreviousBundle()
    #expect(partialFiles == [".out.mbtiles.\(cut.processID)-0.partial"])

    // The next cut removes what is left.
    let next = try tilecut("cut", try folder.writePlacedPicture(), "-o", output, "--zoom", "0", "--force")
    #expect(next.status == 0, "\(next)")
    #expect(folder.names == ["out.mbtiles", "placed.pgw", "placed.png", "placed.prj"])
    try expectValid(output)
  }

  /// The cut of what is added has a bundle and a temporary file of its own.
  @Test func killedAppendLeavesNothingForGood() throws {
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let bundle = folder.file("map.mbtiles")
    #expect(
      try tilecut(
        "cut", raster, "-o", bundle, "--zoom", "0-16", "--format", "jpeg", "--bounds=-105.7,40.3,-105.69,40.31"
      ).status == 0)
    let before = try folder.bytes("map.mbtiles")
    let append = try Command(built: "tilecut").start(["cut", raster, "--append", bundle, "--threads", "1"])
    #expect(append.wait(timeout: 60) { folder.names.contains { $0.hasPrefix(".map.mbtiles.append") } })
    append.send(SIGKILL)
    #expect(append.wait().ending == .signal(SIGKILL))
    #expect(try folder.bytes("map.mbtiles") == before && folder.names.contains { $0.hasPrefix(".") })
    let picture = try folder.writePlacedPicture()
    let next = try tilecut("cut", picture, "--append", bundle, "--zoom", "0-3")
    #expect(next.status == 0, "\(next)")
    #expect(folder.names == ["map.mbtiles", "out.mbtiles", "placed.pgw", "placed.png", "placed.prj"])
    // With a warning: the other zooms have nothing of the picture.
    #expect(try tilecut("verify", bundle).status == 0)
  }

  static let signals: [(Int32, Int32)] = [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)]

  @Test(arguments: signals)
  func stoppedCutLeavesNoFilesAndTheSignalsStatus(_ signal: (number: Int32, status: Int32)) throws {
    try expectStopLeavesNoFiles(signal, progressLines: 0)
  }

  @Test(.long, arguments: signals)
  func cutStoppedLaterLeavesNoFilesAndTheSignalsStatus(_ signal: (number: Int32, status: Int32)) throws {
    try expectStopLeavesNoFiles(signal, progressLines: 2)
  }

  private func expectStopLeavesNoFiles(_ signal: (number: Int32, status: Int32), progressLines: Int) throws {
    let cut = try startLongCut("--progress", "json")
    wait(for: cut, progressLines: progressLines)
    cut.send(signal.number)
    // 2 s in a release build; the unit under way is drawn to its end first. The rest of the cut takes hours.
    let run = cut.wait(timeout: 60)
    #expect(run.status == signal.status && documentedStatuses.contains(signal.status), "\(run)")
    #expect(run.stdout.isEmpty, "\(run)")
    #expect(partialFiles == [], "\(run)")
    try expectPreviousBundle()
  }

  /// `timeout` of coreutils signals a process and then its group, within milliseconds: that is one request.
  @Test(arguments: [[SIGTERM, SIGTERM], [SIGTERM, SIGHUP], [SIGINT, SIGTERM]])
  func signalsAtTheSameTimeAreOne(_ numbers: [Int32]) throws {
    let cut = try startLongCut()
    wait(for: cut, progressLines: 0)
    for number in numbers { cut.send(number) }
    let run = cut.wait(timeout: 60)
    // Of two that wait, the system delivers the lower number first.
    #expect(numbers.map { 128 + $0 }.contains(run.status), "\(run)")
    #expect(partialFiles == [], "\(run)")
    try expectPreviousBundle()
  }

  /// Ctrl-C once more, a moment later, ends the process at once.
  @Test func secondSignalKills() throws {
    let cut = try startLongCut()
    wait(for: cut, progressLines: 0)
    cut.send(SIGINT)
    usleep(300_000)
    cut.send(SIGINT)
    let run = cut.wait(timeout: 20)
    #expect(run.status == 130 || run.ending == .signal(SIGINT), "\(run)")
    try expectPreviousBundle()
  }

  /// Two writers of one target do not remove each other's temporary files.
  @Test func cutDoesNotRemoveTheTemporaryFilesOfARunningOne() throws {
    let cut = try startLongCut()
    wait(for: cut, progressLines: 0)
    let mine = partialFiles
    let next = try tilecut("cut", try folder.writePlacedPicture(), "-o", output, "--zoom", "0", "--force")
    #expect(next.status == 0, "\(next)")
    #expect(Set(folder.names).isSuperset(of: mine))
    cut.send(SIGTERM)
    #expect(cut.wait().status == 143)
    try expectValid(output)
  }

  @Test func hangupIsIgnoredUnderNohup() throws {
    let picture = try folder.writePlacedPicture()
    let cut = try Command(path: "/bin/sh").start([
      "-c", "trap '' HUP; exec \"$0\" \"$@\"", Command(built: "tilecut").path, "cut", picture, "-o", output, "--force",
      "--zoom", "0-7", "--format", "jpeg", "--threads", "1",
    ])
    #expect(cut.wait { folder.names.contains { $0.hasSuffix(".partial") } })
    cut.send(SIGHUP)
    #expect(cut.wait().status == 0)
    try expectValid(output)
  }

  /// Waits until a command has had three seconds of a processor (proc(5)), which on a busy machine takes longer.
  private func letWork(_ process: ChildProcess) {
    _ = process.wait(timeout: 3) { false }
    _ = process.wait(timeout: 120) {
      guard let stat = try? String(contentsOfFile: "/proc/\(process.processID)/stat", encoding: .utf8) else {
        return true
      }
      // After the name, which is in parentheses: the 12th and 13th are ticks of 10 ms in the program and in the system.
      let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
      return fields.count < 13 || fields[11...12].compactMap { Int($0) }.reduce(0, +) >= 300
    }
  }

  /// Work within one tile that takes minutes: labels are placed for a whole zoom, which ends soon after the signal, and
  /// an icon's filter is computed at once, so that it is refused.
  @Test(arguments: ["labels", "icon"]) func longDrawingEndsWithTheSignal(_ kind: String) throws {
    _ = try folder.writePlacedPicture()
    let isIcon = kind == "icon"
    var random = SeededGenerator(seed: 5)
    let places = (0..<(isIcon ? 1 : 60_000)).map { number in
      let longitude = isIcon ? 15 : Double.random(in: 10.1..<19.9, using: &random)
      let latitude = isIcon ? 45 : Double.random(in: 40.1..<49.9, using: &random)
      return """
        {"type": "Feature", "properties": {"name": "Place \(number)"}, \
        "geometry": {"type": "Point", "coordinates": [\(longitude), \(latitude)]}}
        """
    }
    try folder.write(
      "p.geojson", #"{"type": "FeatureCollection", "features": ["# + places.joined(separator: ",") + "]}")
    try folder.write(
      "i.svg",
      """
      <svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">
      <filter id="f" x="-1000" y="-1000" width="100000" height="100000"><feGaussianBlur stdDeviation="5000"/>
      <feTurbulence numOctaves="100000000" baseFrequency="0.1"/></filter>
      <rect width="20" height="20" filter="url(#f)"/></svg>
      """)
    let layout =
      isIcon
      ? #""icon-image": "k", "icon-allow-overlap": true"#
      : #""text-field": ["get", "name"], "text-size": 10, "text-variable-anchor": ["top", "bottom", "left", "right"]"#
    try folder.write(
      "regions.json",
      """
      {"version": 1, "regions": [{"id": "a", "title": "a", "category": "x", "zoom": [2, 9], "layers": [
      {"type": "raster", "sources": ["placed.png"]},
      {"type": "vector", "data": "p.geojson", \(isIcon ? #""images": {"k": "i.svg"}, "# : "")\
      "style": [{"type": "symbol", "layout": {\(layout)}}]}]}]}
      """)
    let before = folder.names
    let cut = try Command(built: "tilecut").start(
      ["cut", "regions.json", "-o", "drawn.mbtiles", "--progress", "none", "--memory", "1GB"], in: folder.path)
    letWork(cut)
    cut.send(SIGTERM)
    // What is not stopped takes minutes.
    let run = cut.wait(timeout: 60)
    #expect(run.status == 143 || isIcon && run.status == 65, "\(run)")
    #expect(folder.names.filter { $0 != "drawn.mbtiles" } == before, "\(folder.names)")
  }
}
