import Foundation
import LibC
import Support
import TestSupport
import Testing

/// Files whose names are no UTF-8, as old archives unpack: `\xFC` for ü.
@Suite(.ownThread) struct RawNameTests {
  private let folder: TemporaryFolder
  /// U+F7FC stands for the byte.
  private let name = "\u{f7fc}bersicht"

  init() throws {
    folder = try TemporaryFolder()
    let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")
    try FileSystem.createExclusively(folder.file("\(name).tif"))
    try FileSystem.copy(raster, over: folder.file("\(name).tif"))
  }

  private func done(_ arguments: String...) throws -> CommandRun {
    let run = try Command(built: "tilecut").run(arguments, in: folder.path, timeout: 60)
    #expect(run.status == 0, "\(run)")
    return run
  }

  @Test func mapOfSuchANameIsCutAndReadByEveryCommand() throws {
    _ = try done("cut", "\(name).tif", "-o", "\(name).mbtiles", "--zoom", "8-9", "--resume")
    #expect(FileSystem.kind(folder.file("\(name).mbtiles")) == .file)
    for command in ["inspect", "verify"] { _ = try done(command, "\(name).mbtiles") }
    let json = try done("inspect", "\(name).mbtiles", "--json").stdout
    #expect((try? JSONSerialization.jsonObject(with: Data(json.utf8))) != nil, "\(json)")
    _ = try done("convert", "\(name).mbtiles", "-o", "\(name).pmtiles")
    _ = try done("convert", "\(name).mbtiles", "-o", "\(name)/")
    _ = try done("convert", "\(name)/", "-o", "\(name).gpkg")
    _ = try done("convert", "\(name).mbtiles", "-o", "\(name)/", "--force")
    _ = try done("merge", "\(name).pmtiles", "\(name).gpkg", "-o", "all.mbtiles")
    #expect(
      Set(FileSystem.names(in: folder.path))
        == [name, "\(name).tif", "\(name).mbtiles", "\(name).pmtiles", "\(name).gpkg", "all.mbtiles"])
  }

  @Test func listsAndMosaicsNameSuchSources() throws {
    let bytes = SystemPath.bytes("\(name).tif")
    try folder.write("list.txt", bytes: bytes + [0x0a])
    _ = try done("cut", "--src-list", "list.txt", "-o", "list.mbtiles", "--zoom", "8")
    let size = try done("inspect", "list.mbtiles").stdout
    #expect(!size.isEmpty)
    let vrt = """
      <VRTDataset rasterXSize="16" rasterYSize="16"><SRS>EPSG:4326</SRS><GeoTransform>0,1,0,16,0,-1</GeoTransform>
      <VRTRasterBand dataType="Byte" band="1"><SimpleSource><SourceFilename relativeToVRT="1">@</SourceFilename>
      <SourceBand>1</SourceBand></SimpleSource></VRTRasterBand></VRTDataset>
      """
    let parts = vrt.split(separator: "@").map { Array($0.utf8) }
    try folder.write("all.vrt", bytes: parts[0] + bytes + parts[1])
    _ = try done("cut", "all.vrt", "-o", "vrt.mbtiles", "--zoom", "3")
  }

  @Test func ledgersAndDevicesHaveSuchNames() throws {
    try FileSystem.makeFolders(folder.file(name))
    try folder.write("c.json", #"{"bundleId": "org.example.maps", "environment": "Sandbox"}"#)
    for words in [["init"], ["status"], ["verify"], ["backup", "\(name)/b.sqlite"]] {
      let run = try Command(built: "purchase-ledger").run(
        words + ["--ledger", "\(name)/l.sqlite", "--config", "c.json"], in: folder.path, timeout: 60)
      #expect(run.status == 0, "\(run)")
    }
    let list = try Command(built: "mapstore").run(
      ["client", "list", "--folder", "\(name)/device", "--server", "http://127.0.0.1:1"], in: folder.path)
    #expect(list.status == 0 && list.stderr.contains(#"\xFCbersicht/device knows no region yet"#), "\(list)")
    #expect(
      Set(FileSystem.names(in: folder.file(name))).isSuperset(of: ["l.sqlite", "b.sqlite", "device"]))
  }

  @Test func messagesShowTheByteOnOneLine() throws {
    let missing = try tilecut("cut", "no\u{f7e4}\nfile.tif", "-o", "out.mbtiles", in: folder.path)
    #expect(missing.status == 66 && missing.stderr.hasPrefix(#"tilecut: no\xE4\nfile.tif: "#), "\(missing)")
    #expect(missing.stderrLines.count == 1, "\(missing)")
  }

  @Test func resultsShowLineBreaksOfNamesEscaped() throws {
    let map = try folder.writeBundle("a.mbtiles", zooms: 0...1)
    let other = try folder.writeBundle("b.mbtiles", zooms: 0...1, seed: 2)
    let out = folder.file("a\nb")
    for words in [
      ["diff", map, other, "-o", "\(out).patch"], ["textures", map, "-o", "\(out).ktx/"],
      ["apply", "\(out).patch", map, "-o", "\(out).mbtiles"], ["preview", map, "-o", "\(out).png"],
    ] {
      let run = try Command(built: "tilecut").run(words, in: folder.path)
      #expect(run.status == 0 && run.stdout.contains(#"a\nb"#) && !run.stdout.contains("a\nb"), "\(run)")
    }
  }
}
