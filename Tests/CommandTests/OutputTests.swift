import Foundation
import TestSupport
import Testing

/// Where the bundle is written, and which files it must not replace.
@Suite(.ownThread) struct OutputTests {
  let folder: TemporaryFolder
  let picture: String
  let output: String

  init() throws {
    folder = try TemporaryFolder()
    picture = try folder.writePlacedPicture()
    output = folder.file("out.mbtiles")
  }

  @Test func existingOutputIsNotReplacedWithoutForce() throws {
    try folder.write("out.mbtiles", "precious")
    let before = try FileManager.default.attributesOfItem(atPath: output)
    expectRefusal(try tilecut("cut", picture, "-o", output), status: 73, naming: output, "--force")
    #expect(try folder.bytes("out.mbtiles") == Data("precious".utf8))
    let after = try FileManager.default.attributesOfItem(atPath: output)
    #expect(before[.modificationDate] as? Date == after[.modificationDate] as? Date)
    #expect(before[.systemFileNumber] as? Int == after[.systemFileNumber] as? Int)
    #expect(folder.names == ["out.mbtiles", "placed.pgw", "placed.png", "placed.prj"])
  }

  @Test func forceReplacesTheOutput() throws {
    try folder.write("out.mbtiles", "old")
    #expect(try tilecut("cut", picture, "-o", output, "--force").status == 0)
    try expectValid(output)
  }

  /// GDAL and QGIS open no MBTiles with deeper zooms, whichever command wrote it; other containers have no such limit.
  @Test func zoomsThatGDALDoesNotOpenAreSaid() throws {
    func cut(_ name: String, _ zoom: String) throws -> CommandRun {
      try tilecut(
        "cut", picture, "-o", folder.file(name), "--zoom", zoom, "--bounds=15,45,15.00001,45.00001", "--progress",
        "none")
    }
    let words = "GDAL and QGIS open no MBTiles with zooms beyond 22, and this one reaches 23"
    let deep = try cut("deep.mbtiles", "23")
    #expect(deep.status == 0 && deep.stderr.contains("warning: \(folder.file("deep.mbtiles")): \(words)"), "\(deep)")
    let dry = try tilecut(
      "cut", picture, "-o", output, "--zoom", "23", "--bounds=15,45,15.00001,45.00001", "--dry-run")
    #expect(dry.status == 0 && dry.stderr.contains(words), "\(dry)")
    for (name, zoom) in [("deep.pmtiles", "23"), ("open.mbtiles", "22")] {
      let run = try cut(name, zoom)
      #expect(run.status == 0 && run.stderr.isEmpty, "\(run)")
    }
    let converted = try tilecut("convert", folder.file("deep.pmtiles"), output, "--progress", "none")
    #expect(converted.status == 0 && converted.stderr.contains(words), "\(converted)")
  }

  /// The old bundle stays if a source is refused, even with --force.
  @Test func failedCutKeepsTheOldOutputWithForce() throws {
    try folder.write("out.mbtiles", "precious")
    let empty = try folder.write("empty.tif", "")
    expectRefusal(try tilecut("cut", picture, empty, "-o", output, "--force"), status: 65)
    #expect(try folder.bytes("out.mbtiles") == Data("precious".utf8))
  }

  @Test func missingOutputFolderIsNamed() throws {
    let run = try tilecut("cut", picture, "-o", folder.file("no/such/out.mbtiles"))
    expectRefusal(run, status: 74, naming: folder.file("no/such"), "mkdir")
  }

  @Test(arguments: [("", Int32(64)), (".", 74), ("sub", 74)])
  func outputNamesThatAreNoFilesAreRefused(_ name: String, _ status: Int32) throws {
    try FileManager.default.createDirectory(atPath: folder.file("sub"), withIntermediateDirectories: false)
    for arguments in [["cut", picture, "-o", name], ["cut", picture, "-o", name, "--force"]] {
      expectRefusal(try Command(built: "tilecut").run(arguments, in: folder.path), status: status)
    }
    #expect(folder.names == ["placed.pgw", "placed.png", "placed.prj", "sub"])
  }

  /// A folder of the system: not even root can write there.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/proc/self"), "there is no /proc"))
  func outputFolderThatTakesNoFilesIsNamed() throws {
    expectRefusal(try tilecut("cut", picture, "-o", "/proc/out.mbtiles"), status: 74, naming: "/proc")
  }

  @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
  func outputFolderWithoutPermissionIsNamed() throws {
    let locked = folder.file("locked")
    try FileManager.default.createDirectory(
      atPath: locked, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o555])
    expectRefusal(try tilecut("cut", picture, "-o", "\(locked)/out.mbtiles"), status: 74, naming: locked)
  }

  @Test(.enabled(if: geteuid() != 0, "root may read everywhere"))
  func foldersThatMayNotBeReadAreNamed() throws {
    let manager = FileManager.default
    let locked = folder.file("locked")
    try manager.createDirectory(
      atPath: locked, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o000])
    defer { try? manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: locked) }
    expectRefusal(
      try tilecut("cut", picture, "-o", "\(locked)/out.mbtiles"), status: 74, naming: "permission denied", "permissions"
    )
    expectRefusal(try tilecut("inspect", locked), status: 66, naming: "permission denied; check the permissions")
    let packs = try tilecut("packs", locked, "--point", "1,2")
    expectRefusal(packs, status: 66, naming: "permission denied; check the permissions")
  }

  /// Links that lead to themselves, which not even root can follow.
  @Test func loopsOfLinksHaveARemedy() throws {
    try FileManager.default.createSymbolicLink(atPath: folder.file("loop"), withDestinationPath: "loop")
    let inside = try tilecut("cut", picture, "-o", folder.file("loop/out.mbtiles"))
    expectRefusal(inside, status: 74, naming: "the folder \(folder.file("loop")) cannot be read", "permissions")
    let packs = try tilecut("packs", folder.file("loop"), "--point", "1,2")
    expectRefusal(packs, status: 66, naming: "; check the permissions")
  }

  // MARK: - The output is an input

  /// By its name, by another spelling of it, by a symbolic link and by a hard link.
  @Test(arguments: ["placed.png", "./placed.png", "sub/../placed.png", "link.png", "hard.png"], [false, true])
  func outputNeverReplacesASource(_ name: String, force: Bool) throws {
    let manager = FileManager.default
    try manager.createDirectory(atPath: folder.file("sub"), withIntermediateDirectories: false)
    try manager.createSymbolicLink(atPath: folder.file("link.png"), withDestinationPath: "placed.png")
    try manager.linkItem(atPath: picture, toPath: folder.file("hard.png"))
    let before = try folder.bytes("placed.png")
    let names = folder.names
    let run = try Command(built: "tilecut").run(
      ["cut", "placed.png", "-o", name] + (force ? ["--force"] : []), in: folder.path)
    expectRefusal(run, status: 64, naming: name)
    // The remedy must not lead to a lost map.
    #expect(!run.stderr.contains("--force"), "\(run)")
    #expect(try folder.bytes("placed.png") == before)
    #expect(folder.names == names)
  }

  @Test func outputNeverReplacesASourceThroughALink() throws {
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("link.png"), withDestinationPath: picture)
    for suffix in ["pgw", "prj"] {
      try folder.write("link.\(suffix)", bytes: Array(folder.bytes("placed.\(suffix)")))
    }
    let before = try folder.bytes("placed.png")
    expectRefusal(try tilecut("cut", folder.file("link.png"), "-o", picture, "--force"), status: 64)
    #expect(try folder.bytes("placed.png") == before)
  }

  @Test func outputNeverReplacesAManifestOrItsSources() throws {
    let manifest = try folder.write(
      "regions.json", #"{"regions": [{"id": "a", "title": "A", "category": "c", "sources": ["placed.png"]}]}"#)
    let before = try [folder.bytes("regions.json"), folder.bytes("placed.png")]
    for target in [manifest, picture] {
      expectRefusal(try tilecut("cut", manifest, "-o", target, "--force"), status: 64, naming: target)
    }
    #expect(try [folder.bytes("regions.json"), folder.bytes("placed.png")] == before)
  }

  @Test func contactSheetNeverReplacesItsBundle() throws {
    #expect(try tilecut("cut", picture, "-o", output, "--zoom", "0").status == 0)
    let before = try folder.bytes("out.mbtiles")
    expectRefusal(try tilecut("preview", output, "-o", output, "--force"), status: 64, naming: output)
    #expect(try folder.bytes("out.mbtiles") == before)
    try folder.write("sheet.png", "precious")
    expectRefusal(
      try tilecut("preview", "--contact-sheet", output, "-o", folder.file("sheet.png")), status: 73, naming: "--force")
    #expect(try folder.bytes("sheet.png") == Data("precious".utf8))
  }
}
