import ServerSupport

/// The pages' own assets, embedded in the program.
package enum ViewerAssets {
  /// The file of `/_assets/NAME`, such as `style.css`; nil for unknown names.
  package static func asset(named name: String) -> (bytes: [UInt8], mediaType: String)? {
    guard let bytes = contents(name) else { return nil }
    return (bytes, MediaType.ofFile(named: name))
  }

  /// The known names.
  package static let names = [
    "style.css", "viewer.css", "index.js", "viewer-shared.js", "viewer-fitted.js", "viewer-grid.js",
    "viewer-leaflet.js", "viewer-maplibre.js", "viewer-search.js", "viewer-track.js", "icon.svg",
  ]

  private static func contents(_ name: String) -> [UInt8]? {
    switch name {
    case "style.css": PackageResources.style_css
    case "viewer.css": PackageResources.viewer_css
    case "index.js": PackageResources.index_js
    case "viewer-shared.js": PackageResources.viewer_shared_js
    case "viewer-fitted.js": PackageResources.viewer_fitted_js
    case "viewer-grid.js": PackageResources.viewer_grid_js
    case "viewer-leaflet.js": PackageResources.viewer_leaflet_js
    case "viewer-maplibre.js": PackageResources.viewer_maplibre_js
    case "viewer-search.js": PackageResources.viewer_search_js
    case "viewer-track.js": PackageResources.viewer_track_js
    case "icon.svg": PackageResources.icon_svg
    default: nil
    }
  }
}

/// The map libraries of the viewer pages that are installed on this machine: Leaflet for raster tiles, MapLibre GL for
/// vector tiles. They are served from their folders; none is part of this package.
package struct WebLibraries: Hashable, Sendable {
  /// The folder with `leaflet.js`, `leaflet.css` and `images`, or nil.
  package let leaflet: String?
  /// The folder with `maplibre-gl.js` and `maplibre-gl.css`, or nil.
  package let maplibre: String?

  /// The folders of Debian's packages.
  package static let systemFolders = ["/usr/share/javascript/leaflet", "/usr/share/javascript/maplibre-gl"]

  /// The default folders: the system's, `web` beside the program, and, for a program in a build folder,
  /// that of `make web-libraries`.
  ///
  /// - Parameter executable: the program's path.
  package static func folders(besideExecutable executable: String) -> [String] {
    var parts = executable.split(separator: "/", omittingEmptySubsequences: false)
    _ = parts.popLast()
    var folders = systemFolders + [(parts + ["web"]).joined(separator: "/")]
    if let build = parts.lastIndex(of: ".build") {
      folders.append((parts[...build] + ["web"]).joined(separator: "/"))
    }
    return folders
  }

  /// Searches folders and their sub-folders `leaflet` and `maplibre-gl`; the first complete one is used.
  package static func find(in folders: [String]) -> WebLibraries {
    func folder(_ name: String) -> String? {
      folders.flatMap { [$0, "\($0)/\(name)"] }.first { folder in
        ["\(name).js", "\(name).css"].allSatisfy { FileProbe.isReadable("\(folder)/\($0)") }
      }
    }
    return WebLibraries(leaflet: folder("leaflet"), maplibre: folder("maplibre-gl"))
  }

  /// The file of `/_assets/NAME`, such as `leaflet/leaflet.js`; nil for names that are not in a fixed list, so that no
  /// name can lead out of the folders, and for libraries that are not installed.
  package func asset(named name: String) -> (path: String, mediaType: String)? {
    guard let slash = name.firstIndex(of: "/"), Self.files.contains(name) else { return nil }
    let folder = name[..<slash] == "leaflet" ? leaflet : maplibre
    guard let folder else { return nil }
    var path = "\(folder)/\(name[name.index(after: slash)...])"
    if name == "leaflet/leaflet.js", FileProbe.isReadable("\(folder)/leaflet.min.js") {
      path = "\(folder)/leaflet.min.js"
    }
    guard FileProbe.isReadable(path) else { return nil }
    return (path, MediaType.ofFile(named: name))
  }

  private static let files: Set<String> = [
    "leaflet/leaflet.js", "leaflet/leaflet.css", "leaflet/images/layers.png", "leaflet/images/layers-2x.png",
    "leaflet/images/marker-icon.png", "leaflet/images/marker-icon-2x.png", "leaflet/images/marker-shadow.png",
    "maplibre-gl/maplibre-gl.js", "maplibre-gl/maplibre-gl.css",
  ]
}

extension TileServerOptions {
  /// The folders of Debian's packages with the viewer's libraries.
  package static var usualWebLibraryFolders: [String] { WebLibraries.systemFolders }
}
