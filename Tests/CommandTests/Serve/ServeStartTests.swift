import Foundation
import TestSupport
import Testing

/// How the built `tileserve` starts: what it prints, and what it refuses to serve.
@Suite(.ownThread) struct ServeStartTests {
  let folder: TemporaryFolder
  let bundle: String

  init() throws {
    folder = try TemporaryFolder()
    bundle = try folder.writeBundle("a map.mbtiles", zooms: 0...1)
  }

  @Test func startPrintsTilesetsAndAddress() throws {
    try folder.write("broken.mbtiles", "no bundle")
    let server = try RunningServer([folder.path])
    let root = "http://127.0.0.1:\(server.port)/"
    #expect(
      server.process.stdout == """
        serving 1 tileset from \(folder.path)
        viewer: \(root)
        tiles:  \(root)a%20map/{z}/{x}/{y}, described by \(root)a%20map.json
        not served: broken: broken.mbtiles: is not a bundle: neither MBTiles, PMTiles nor GeoPackage, \
        or its head is damaged

        """)
    #expect(try server.get("/metrics").text.contains("\ntileserve_tilesets 1\n"))
    // Reported when it was found, and not again for each request.
    let words = "tileserve: warning: broken cannot be served: \(folder.file("broken.mbtiles"))"
    #expect(server.process.wait(timeout: 20) { server.process.stderr.contains(words) }, "\(server.process.stderr)")
    for _ in 0..<3 { #expect(try server.get("/broken/0/0/0").status == 503) }
    try folder.writeBundle("new.mbtiles", zooms: 0...0)
    #expect(server.process.wait(timeout: 20) { server.process.stderr.contains("new tileset new") })
    #expect(server.process.stderr.matches(of: /broken cannot/).count == 1, "\(server.process.stderr)")
    #expect(try server.get("/a%20map/0/0/0").status == 200)
  }

  /// The limit is 50 ms in a release build; a debug build on a machine with other work gets far more.
  @Test func startWithAThousandBundlesIsFast() throws {
    let bundles = try TemporaryFolder()
    for number in 0..<1000 {
      // Not links: SQLite keeps a file open as long as another reader of the same file holds a lock.
      try FileManager.default.copyItem(
        atPath: folder.file("a map.mbtiles"), toPath: bundles.file("map-\(number).mbtiles"))
    }
    let start = ContinuousClock.now
    let server = try RunningServer([bundles.path])
    let elapsed = ContinuousClock.now - start
    print("tileserve: serving 1,000 bundles \(elapsed / .milliseconds(1)) ms after its start")
    #expect(elapsed < .seconds(30))
    #expect(server.process.stdout.hasPrefix("serving 1000 tilesets"))
    let list = try server.get("/tilesets.json")
    #expect(list.status == 200 && list.text.contains("map-999"))
    // All but 64 are closed again, as soon as the threads that read them are through. Each of these has up to six
    // readers of two descriptors, where many threads wait for a busy disk.
    let process = "\(server.process.processID)"
    #expect(
      eventually(seconds: 240) { openDescriptorCount(ofProcess: process).map { $0 < 800 } ?? true },
      "\(openDescriptorCount(ofProcess: process) ?? 0) files are open")
    #expect(try server.get("/map-500/0/0/0.png").status == 200)
  }

  /// A folder without bundles is served, since some may come; whoever mistyped its name is told.
  @Test func aFolderWithoutBundlesIsNamedInTheGreeting() throws {
    let empty = folder.file("empty")
    try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
    let server = try RunningServer([empty])
    #expect(server.process.stdout.contains("there is no bundle in \(empty) yet"), "\(server.process.stdout)")
    #expect(try !RunningServer([bundle]).process.stdout.contains("there is no bundle"))
  }

  /// Each of the files is named. Beside one that can be served, and in a folder, such files are left out.
  @Test func filesNoneOfWhichIsABundleAreRefused() throws {
    let text = try folder.write("a.txt", "no bundle")
    let broken = try folder.write("broken.mbtiles", "no bundle either")
    #expect(try tileserve(folder.write("tileserve.json", "{}")).status == 65)
    let socket = folder.file("socket")
    let run = try tileserve(text, broken, "--unix-socket", socket)
    #expect(run.status == 65 && run.stdout.isEmpty, "\(run)")
    for name in ["a.txt: is not a bundle", "broken.mbtiles: is not a bundle"] {
      #expect(run.stderr.contains("tileserve: \(folder.file(name))"), "\(run)")
    }
    #expect(!FileManager.default.fileExists(atPath: socket))
    let picture = ProjectFiles.path("sample-regions/jacksboro-fault/jacksboro-fault-relief.tif")
    #expect(try tileserve(picture).stderr.contains("cut it into tiles first: tilecut cut '\(picture)' -o NAME.mbtiles"))
    let server = try RunningServer([bundle, text])
    #expect(server.process.stdout.contains("serving 1 tileset"), "\(server.process.stdout)")
    #expect(server.process.stdout.contains("not served: a.txt: is not a bundle"), "\(server.process.stdout)")
  }

  /// A folder may be corrected: its tiles come and go.
  @Test func aFolderOfTilesThatIsBrokenIsServedWhenItIsCorrected() throws {
    try FileManager.default.createDirectory(atPath: folder.file("tiles/0/0"), withIntermediateDirectories: true)
    try folder.write("tiles/metadata.json", "{")
    try folder.write("tiles/0/0/0.png", bytes: SampleTiles.image(1))
    let server = try RunningServer([folder.file("tiles")])
    #expect(server.process.stdout.contains("not served: tiles: "), "\(server.process.stdout)")
    try FileManager.default.removeItem(atPath: folder.file("tiles/metadata.json"))
    #expect(try eventually { try server.get("/tiles/0/0/0.png").status == 200 })
  }

  /// The second file is not served for its name, whatever is in it.
  @Test func brokenFilesOfOneNameAreRefused() throws {
    let paths = try ["a", "b"].map { name in
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
      return try folder.write("\(name)/x.mbtiles", "no bundle")
    }
    let run = try tileserve(paths[0], paths[1], "--port", "0", timeout: 30)
    #expect(run.status == 65 && run.stderr.contains("\(paths[0]): is not a bundle"), "\(run)")
  }

  @Test(.enabled(if: geteuid() != 0, "root may read everywhere"))
  func aBundleThatMayNotBeReadExitsWith66() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o000], ofItemAtPath: bundle)
    let run = try tileserve(bundle, "--port", "0", timeout: 10)
    #expect(run.status == 66 && run.stderr.contains("permission denied"), "\(run)")
  }

  /// What is in it is not known, so that nobody may be told that it is not there.
  @Test(.enabled(if: geteuid() != 0, "root may read everywhere"))
  func tilesInAFolderThatMayNotBeListedAreUnavailable() throws {
    try FileManager.default.createDirectory(
      atPath: folder.file("tiles/0/0"), withIntermediateDirectories: true)
    try folder.write("tiles/0/0/0.png", bytes: SampleTiles.image(1))
    try FileManager.default.setAttributes([.posixPermissions: 0o000], ofItemAtPath: folder.file("tiles"))
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.file("tiles")) }
    let server = try RunningServer([folder.path])
    for target in ["/tiles/0/0/0.png", "/tiles--part/0/0/0.png", "/tiles.json"] {
      #expect(try server.get(target).status == 503, "\(target)")
    }
    #expect(try server.get("/other/0/0/0.png").status == 404)
  }

  @Test func missingPathExitsWith66() throws {
    let run = try tileserve(folder.file("none"), bundle, "--port", "0")
    #expect(run.status == 66 && run.stderr.contains("\(folder.path)/none: "), "\(run)")
  }
}
