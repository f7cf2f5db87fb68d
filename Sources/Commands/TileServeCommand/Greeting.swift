import Support
import TileServe

/// What the command says when it serves.
enum Greeting {
  static func lines(_ shelf: TileShelf, _ server: TileServer, _ settings: ServeSettings) -> [String] {
    let tilesets = shelf.readableTilesets
    let count = tilesets.count == 1 ? "1 tileset" : "\(tilesets.count) tilesets"
    var lines = ["serving \(count) from \(settings.paths.joined(separator: ", "))"]
    if let socket = settings.options.unixSocket {
      lines.append("listening on \(socket)")
    } else {
      lines.append("viewer: \(server.url)")
      if let first = tilesets.first {
        let place = server.url + PercentEncoding.segment(first.id)
        lines.append("tiles:  \(place)/{z}/{x}/{y}, described by \(place).json")
      }
    }
    for (place, reason) in shelf.failures.sorted(by: { $0.key < $1.key }) {
      lines.append("not served: \(place): \(reason)")
    }
    return lines
  }
}
