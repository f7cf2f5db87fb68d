/// The pages' own small files, built into the program.
package enum ViewerAssets {
  /// The file behind `/_assets/NAME`, such as `style.css`; nil for names that are none.
  package static func asset(named name: String) -> (bytes: [UInt8], mediaType: String)? {
    guard let bytes = contents(name) else { return nil }
    return (bytes, MediaType.ofFile(named: name))
  }

  /// The names that there are.
  package static let names = [
    "style.css", "viewer.css", "index.js", "viewer-shared.js", "viewer-grid.js", "viewer-leaflet.js",
    "viewer-maplibre.js", "viewer-search.js", "icon.svg",
  ]

  private static func contents(_ name: String) -> [UInt8]? {
    switch name {
    case "style.css": PackageResources.style_css
    case "viewer.css": PackageResources.viewer_css
    case "index.js": PackageResources.index_js
    case "viewer-shared.js": PackageResources.viewer_shared_js
    case "viewer-grid.js": PackageResources.viewer_grid_js
    case "viewer-leaflet.js": PackageResources.viewer_leaflet_js
    case "viewer-maplibre.js": PackageResources.viewer_maplibre_js
    case "viewer-search.js": PackageResources.viewer_search_js
    case "icon.svg": PackageResources.icon_svg
    default: nil
    }
  }
}
