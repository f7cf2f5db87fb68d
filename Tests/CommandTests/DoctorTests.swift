import Foundation
import TestSupport
import Testing

/// `tilecut doctor`, and libraries that are loaded when they are first needed.
@Suite(.ownThread) struct DoctorTests {
  @Test func everythingIsListedOnce() throws {
    let run = try Command(built: "tilecut").run(["doctor"])
    #expect(run.stderr.isEmpty)
    for name in [
      "tilecut", "curl", "expat", "geotiff", "jpeg-turbo", "libdeflate", "nettle", "openjpeg", "png", "proj", "sqlite",
      "tiff", "webp", "zlib", "cores", "memory", "terminal",
    ] {
      let lines = run.stdoutLines.filter { $0.hasPrefix("\(name) ") }
      #expect(lines.count == 1 && !lines[0].hasSuffix("missing"), "\(name): \(run)")
    }
    for name in ["astcenc", "cairo", "imagequant", "librsvg", "pango"] {
      #expect(run.stdoutLines.count { $0.hasPrefix("\(name) ") } == 1, "\(name): \(run)")
    }
    #expect(run.stdout.contains("proj.db"), "\(run)")
  }

  @Test func jsonHasTheSame() throws {
    let run = try Command(built: "tilecut").run(["doctor", "--json"])
    let document = try #require(try JSONSerialization.jsonObject(with: Data(run.stdout.utf8)) as? [String: Any])
    let system = try #require(document["system"] as? [String: Any])
    let libraries = try #require(system["libraries"] as? [[String: Any]])
    #expect(libraries.contains { $0["name"] as? String == "proj" && ($0["version"] as? String)?.isEmpty == false })
    #expect((system["processorCount"] as? Int ?? 0) >= 1 && (system["memoryBytes"] as? Int ?? 0) > 1 << 26)
    #expect(run.status == ((system["problems"] as? [Any])?.isEmpty == true ? 0 : 1))
  }

  @Test func aMissingDatabaseIsAProblemWithARemedy() throws {
    let folder = try TemporaryFolder()
    let run = try Command(built: "tilecut").run(
      ["doctor"], environment: ["PROJ_DATA": folder.path, "PROJ_LIB": folder.path])
    // Where PROJ was compiled with a folder of its own it still finds its database there.
    guard !run.stdout.contains("proj.db\n") else { return }
    #expect(run.status == 1 && run.stdout.contains("apt-get install proj-data"), "\(run)")
  }

  #if os(Linux)
    /// Libraries that the dynamic linker cannot read stand for missing ones.
    private func broken(_ names: String...) throws -> (TemporaryFolder, [String: String]) {
      let folder = try TemporaryFolder()
      for name in names { try Data("no library".utf8).write(to: URL(fileURLWithPath: folder.file(name))) }
      return (folder, ["LD_LIBRARY_PATH": folder.path])
    }

    @Test func commandsThatNeedNoMapProjectionStartWithoutPROJ() throws {
      let run = try Command(built: "tilecut").run(["--version"], environment: ["LD_TRACE_LOADED_OBJECTS": "1"])
      #expect(run.stdout.contains("libsqlite3"), "\(run)")
      for name in ["libproj", "libgeotiff", "libcurl", "libgnutls"] { #expect(!run.stdout.contains(name), "\(name)") }
    }

    @Test func aMissingLibraryNamesTheCommandThatInstallsIt() throws {
      let (folder, environment) = try broken("libproj.so.25", "libproj.so")
      let picture = try folder.writePlacedPicture()
      let run = try Command(built: "tilecut").run(
        ["cut", picture, "-o", folder.file("out.mbtiles")], environment: environment)
      expectRefusal(run, status: 71, naming: "libproj.so.25", "apt-get install libproj25")
      let doctor = try Command(built: "tilecut").run(["doctor"], environment: environment)
      #expect(doctor.status == 1, "\(doctor)")
      #expect(doctor.stdout.contains("proj          missing"), "\(doctor)")
      #expect(doctor.stdout.contains("apt-get install libproj25"), "\(doctor)")
      #expect(try Command(built: "tilecut").run(["--version"], environment: environment).status == 0)
    }

    /// What one command needs is no problem of the others.
    @Test func aMissingEncoderIsNoProblemButIsNamed() throws {
      let (folder, environment) = try broken(
        "libimagequant.so.0", "libimagequant.so", "libimagequant.0.dylib", "libimagequant.dylib", "libastcenc.so.3d",
        "libcairo.so.2", "libpangocairo-1.0.so.0", "librsvg-2.so.2")
      let run = try Command(built: "tilecut").run(["doctor"], environment: environment)
      #expect(!folder.names.isEmpty && !run.stdout.contains("problem: libimagequant"), "\(run)")
      #expect(
        run.stdout.contains("imagequant    missing; only --colors needs it: apt-get install libimagequant0"), "\(run)")
      #expect(run.stdout.contains("astcenc       missing; only tilecut textures needs it"), "\(run)")
      #expect(
        run.stdout.contains("cairo         missing; only a layer of type vector needs it: apt-get install libcairo2"),
        "\(run)")
      #expect(
        run.stdout.contains("librsvg       missing; only an icon in SVG needs it: apt-get install librsvg2-2"), "\(run)"
      )
      #expect(
        run.stdout.contains(
          "pango         missing; only a style layer of type symbol needs it: apt-get install libpangocairo-1.0-0"),
        "\(run)")
    }

    @Test func aMissingRendererIsNamedWhenAnIconIsRead() throws {
      let (folder, environment) = try broken("librsvg-2.so.2")
      let picture = try folder.writePlacedPicture()
      try folder.write("hut.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>")
      try folder.write("hut.geojson", #"{"type": "Point", "coordinates": [0, 0]}"#)
      try folder.write(
        "map.json",
        """
        {"regions": [{"id": "a", "title": "A", "category": "c", "layers": [
          {"type": "raster", "sources": ["\(picture)"]},
          {"type": "vector", "data": "hut.geojson", "images": {"hut": "hut.svg"},
            "style": [{"type": "symbol", "layout": {"icon-image": "hut"}}]}]}]}
        """)
      let run = try Command(built: "tilecut").run(
        ["cut", folder.file("map.json"), "-o", folder.file("out.mbtiles")], environment: environment)
      expectRefusal(run, status: 71, naming: "librsvg-2.so.2", "apt-get install librsvg2-2")
    }

    @Test func aMissingCurlIsNamedWhenAnAddressIsRead() throws {
      let (folder, environment) = try broken("libcurl-gnutls.so.4", "libcurl.so.4")
      let run = try Command(built: "tilecut").run(
        ["cut", "http://127.0.0.1:9/a.tif", "-o", folder.file("out.mbtiles")], environment: environment)
      expectRefusal(run, status: 71, naming: "libcurl-gnutls.so.4", "apt-get install libcurl3-gnutls")
    }
  #endif
}
