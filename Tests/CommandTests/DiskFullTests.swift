import Foundation
import Support
import TestSupport
import Testing

/// A disk of a few kilobytes.
enum SmallDisk {
  /// Runs a line of shell in a folder on which a disk is mounted until the shell ends; nil where that is not possible.
  static func run(
    in folder: String, kilobytes: Int, _ line: String, _ arguments: [String] = []
  ) throws -> CommandRun? {
    guard let unshare = Command(installed: "unshare") else { return nil }
    let mount = "mount -t tmpfs -o size=\(kilobytes)k none \"$0\" && cd \"$0\" && { \(line); }"
    let rights = geteuid() == 0 ? ["-m"] : ["-r", "-m"]
    return try unshare.run(rights + ["/bin/sh", "-c", mount, folder] + arguments)
  }

  static let isAvailable: Bool = {
    guard let folder = try? TemporaryFolder() else { return false }
    return (try? run(in: folder.path, kilobytes: 64, "true"))??.status == 0
  }()

  /// Appended to a command: prints its status and the names of the files on the disk.
  static let report = #"; echo "status $?"; ls -A"#
}

/// A full disk is reported and leaves no partial file.
@Suite(.ownThread, .enabled(if: SmallDisk.isAvailable, "no small disk can be mounted here (unshare, mount)"))
struct DiskFullTests {
  /// The disk fills up while tiles are written.
  @Test(arguments: ["out.mbtiles", "out.pmtiles", "out.gpkg", "out/"])
  func cutOnAFullDiskSaysSoAndLeavesNothing(_ output: String) throws { try expectCutFails(kilobytes: 100, output) }

  /// The disk fills up at the first page, or at the end of the cut.
  @Test(.long, arguments: [16, 250]) func cutThatFillsADiskAtItsBeginningOrEndLeavesNothing(kilobytes: Int) throws {
    try expectCutFails(kilobytes: kilobytes)
  }

  private func expectCutFails(kilobytes: Int, _ output: String = "out.mbtiles") throws {
    let folder = try TemporaryFolder()
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let run = try #require(
      try SmallDisk.run(
        in: folder.path, kilobytes: kilobytes, #""$@""# + SmallDisk.report,
        [Command(built: "tilecut").path, "cut", raster, "-o", output, "--zoom", "0-9"]))
    #expect(run.stdout == "status 74\n", "\(run)")
    #expect(run.stderr.contains("tilecut: \(output): the disk is full; free space"), "\(run)")
  }

  /// Each run keeps what is done and takes no more of the disk; with more space the cut ends like any other.
  @Test func resumedCutOnAFullDiskKeepsItsTilesAndGoesOn() throws {
    let (folder, disk) = (try TemporaryFolder(), try TemporaryFolder())
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    // Long enough for several checkpoints on a quick machine.
    let cut = try [
      Command(built: "tilecut").path, "cut", raster, "--zoom", "0-13", "--effort", "small", "--progress", "none", "-o",
    ]
    let whole = folder.file("whole.mbtiles")
    let reference = try Command(built: "tilecut").run(Array(cut.dropFirst()) + [whole], timeout: 120)
    #expect(reference.status == 0, "\(reference)")
    let bytes = FileSystem.size(whole)
    let look = #"; echo "status $? $(ls -A | tr '\n' ' ')$(du -k .out.mbtiles.resume | cut -f1)""#
    // Room for the tiles once, and for their work not beside them.
    let line =
      #"true; "$@""# + look + #"; "$@""# + look + #"; "$@""# + look
      + #"; mount -o remount,size=96m "$0"; "$@"; echo "status $?"; cmp out.mbtiles '\#(whole)' && ls -A"#
    let run = try #require(
      try SmallDisk.run(in: disk.path, kilobytes: bytes * 5 / 4 / 1024, line, cut + ["out.mbtiles", "--resume"]))
    let lines = run.stdout.split(separator: "\n").filter { $0.hasPrefix("status") || $0 == "out.mbtiles" }
    #expect(lines.count == 5 && lines.last == "out.mbtiles" && lines.dropLast().last == "status 0", "\(run)")
    let stopped = lines.prefix(3).map { $0.split(separator: " ") }
    #expect(stopped.allSatisfy { $0.prefix(3) == ["status", "74", ".out.mbtiles.resume"] && $0.count == 4 }, "\(run)")
    let sizes = stopped.compactMap { $0.last.flatMap { Int($0) } }
    // The first run may have left less than what fits; none takes more than its predecessor by more than a step.
    #expect(sizes.count == 3 && sizes[2] <= sizes[1] + 1024, "\(run)")
    let kept = run.stderrLines.filter { $0.contains(" are kept; --resume continues, and needs about ") }
      .compactMap { $0.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
    #expect(kept.count == 3 && kept == kept.sorted() && kept[0] > 0, "\(run)")
  }

  @Test func fullDiskLeavesTheOldBundleWithForce() throws {
    let folder = try TemporaryFolder()
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let run = try #require(
      try SmallDisk.run(
        in: folder.path, kilobytes: 100, #"echo old > out.mbtiles; "$@""# + SmallDisk.report + "; cat out.mbtiles",
        [Command(built: "tilecut").path, "cut", raster, "-o", "out.mbtiles", "--force", "--zoom", "0-9"]))
    #expect(run.stdout == "status 74\nout.mbtiles\nold\n", "\(run)")
  }

  /// The disk fills up at the first bundle. Nothing unfinished stays.
  @Test func buildOnAFullDiskSaysSoAndLeavesNothing() throws {
    let catalog = try BuiltCatalog()
    try catalog.write(BuiltCatalog.region("a"))
    try expectBuildFails(catalog, kilobytes: 16)
  }

  /// The disk fills up while bundles are cut, or while packs and previews are made from them.
  @Test(.long, arguments: [40, 300, 700]) func buildOfManyFilesOnAFullDiskLeavesNothing(kilobytes: Int) throws {
    let catalog = try BuiltCatalog()
    try catalog.writeVariety()
    try expectBuildFails(catalog, kilobytes: kilobytes)
  }

  private func expectBuildFails(_ catalog: BuiltCatalog, kilobytes: Int) throws {
    let disk = try TemporaryFolder()
    let look = #"; echo "status $?"; ls -A dist/.tilecut/work; ls -A dist | grep -v '^.tilecut$'; exit 0"#
    let build = try #require(
      try SmallDisk.run(
        in: disk.path, kilobytes: kilobytes, #""$@""# + look,
        [Command(built: "tilecut").path, "build", catalog.manifest, "-o", "dist", "--jobs", "2", "--progress", "none"]))
    #expect(build.stdout == "status 74\n", "\(build)")
    #expect(build.stderr.contains("; free space or choose another disk"), "\(build)")
  }

  @Test func contactSheetOnAFullDiskSaysSo() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.file("out.mbtiles")
    #expect(try tilecut("cut", try folder.writePlacedPicture(), "-o", bundle).status == 0)
    let disk = try TemporaryFolder()
    let run = try #require(
      try SmallDisk.run(
        in: disk.path, kilobytes: 4, #""$@""# + SmallDisk.report,
        [Command(built: "tilecut").path, "preview", "--contact-sheet", bundle, "-o", "sheet.png"]))
    #expect(run.stdout == "status 74\n", "\(run)")
    #expect(run.stderr.contains("tilecut: sheet.png: the disk is full"), "\(run)")
  }
}
