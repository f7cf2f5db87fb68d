import Foundation
import TestSupport
import Testing

/// A disk of a few kilobytes.
enum SmallDisk {
  /// Runs a line of shell in a folder that is a disk of its own, which goes with the shell; nil when that cannot be had.
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

  /// To be added to a command: its status, and what is on the disk after it.
  static let report = #"; echo "status $?"; ls -A"#
}

/// A disk that is full leaves no half bundle.
@Suite(.ownThread, .enabled(if: SmallDisk.isAvailable, "no small disk can be mounted here (unshare, mount)"))
struct DiskFullTests {
  /// Full at the first page, while tiles are written, and at the end of it.
  @Test(arguments: [16, 100, 380]) func cutOnAFullDiskSaysSoAndLeavesNothing(kilobytes: Int) throws {
    let folder = try TemporaryFolder()
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    let run = try #require(
      try SmallDisk.run(
        in: folder.path, kilobytes: kilobytes, #""$@""# + SmallDisk.report,
        [Command(built: "tilecut").path, "cut", raster, "-o", "out.mbtiles", "--zoom", "0-9"]))
    #expect(run.stdout == "status 74\n", "\(run)")
    #expect(run.stderr.contains("tilecut: out.mbtiles: the disk is full; free space"), "\(run)")
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

  /// While the bundle is cut, and while what belongs to it is made. What there is room for is kept, and what was not finished is gone.
  @Test(arguments: [40, 300, 700]) func buildOnAFullDiskSaysSoAndLeavesNothing(kilobytes: Int) throws {
    let shelf = try Shelf()
    try shelf.writeVariety()
    let disk = try TemporaryFolder()
    let look = #"; echo "status $?"; ls -A dist/.tilecut/work; ls -A dist | grep -v '^.tilecut$'; exit 0"#
    let build = try #require(
      try SmallDisk.run(
        in: disk.path, kilobytes: kilobytes, #""$@""# + look,
        [Command(built: "tilecut").path, "build", shelf.manifest, "-o", "dist", "--jobs", "2", "--progress", "none"]))
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
