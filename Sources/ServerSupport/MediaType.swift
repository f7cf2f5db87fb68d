/// Media types by file name extension.
package enum MediaType {
  package static func ofFile(named name: String) -> String {
    switch name.split(separator: ".").last {
    case "png": "image/png"
    case "jpg", "jpeg": "image/jpeg"
    case "webp": "image/webp"
    case "svg": "image/svg+xml"
    case "css": "text/css; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    case "mbtiles": "application/vnd.sqlite3"
    case "pmtiles": "application/vnd.pmtiles"
    default: "application/octet-stream"
    }
  }
}
