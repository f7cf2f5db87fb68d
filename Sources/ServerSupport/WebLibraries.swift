import LibC
import Support

/// The map libraries of the servers' pages that this machine has: Leaflet for raster tiles, MapLibre GL for vector
/// tiles. They are served from their folders; none is part of a program.
package struct WebLibraries: Hashable, Sendable {
  /// The folder with `leaflet.js`, `leaflet.css` and `images`, or nil.
  package let leaflet: String?
  /// The folder with `maplibre-gl.js` and `maplibre-gl.css`, or nil.
  package let maplibre: String?

  package init(leaflet: String?, maplibre: String?) { (self.leaflet, self.maplibre) = (leaflet, maplibre) }

  /// The folders of Debian's packages.
  package static let systemFolders = ["/usr/share/javascript/leaflet", "/usr/share/javascript/maplibre-gl"]

  /// The default folders: `web` beside a program, that of a build, in which `make build` puts them, that of an
  /// installation, and the system's.
  ///
  /// - Parameter program: the program's path; the running one's, without links, where none is given.
  package static func folders(of program: String? = nil) -> [String] {
    let program = program ?? FileSystem.resolvingLinks(FileSystem.executablePath)
    let folder = FileSystem.split(program).folder
    let beside = ["web", "../web", "../../web", "../share/map-toolkit/web"]
    return beside.map { FileSystem.absolutePath("\(folder)/\($0)") } + systemFolders
  }

  /// Searches folders and their sub-folders `leaflet` and `maplibre-gl`; the first complete one is used.
  package static func find(in folders: [String]) -> WebLibraries {
    func folder(_ name: String) -> String? {
      folders.flatMap { [$0, "\($0)/\(name)"] }.first { folder in
        ["\(name).js", "\(name).css"].allSatisfy { isReadable("\(folder)/\($0)") }
      }
    }
    return WebLibraries(leaflet: folder("leaflet"), maplibre: folder("maplibre-gl"))
  }

  /// The file of a name such as `leaflet/leaflet.js`; nil for names that are not in a fixed list, so that no name can
  /// lead out of the folders, and for libraries that are not installed.
  package func asset(named name: String) -> (path: String, mediaType: String)? {
    guard let slash = name.firstIndex(of: "/"), Self.files.contains(name) else { return nil }
    let folder = name[..<slash] == "leaflet" ? leaflet : maplibre
    guard let folder else { return nil }
    var path = "\(folder)/\(name[name.index(after: slash)...])"
    if name == "leaflet/leaflet.js", Self.isReadable("\(folder)/leaflet.min.js") {
      path = "\(folder)/leaflet.min.js"
    }
    guard Self.isReadable(path) else { return nil }
    return (path, MediaType.ofFile(named: name))
  }

  private static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 }

  private static let files: Set<String> = [
    "leaflet/leaflet.js", "leaflet/leaflet.css", "leaflet/images/layers.png", "leaflet/images/layers-2x.png",
    "leaflet/images/marker-icon.png", "leaflet/images/marker-icon-2x.png", "leaflet/images/marker-shadow.png",
    "maplibre-gl/maplibre-gl.js", "maplibre-gl/maplibre-gl.css",
  ]
}
