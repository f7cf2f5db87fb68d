import ArgumentParser
import CommandSupport
import TileIndex

/// `tilecut inspect`
struct InspectCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect", abstract: "Says what is in a bundle: metadata, zooms, counts, sizes.")

  @Argument(
    help: ArgumentHelp("A bundle of any maker: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"),
    completion: .file())
  var bundle: String
  @Flag(help: "Print JSON.")
  var json = false
  @OptionGroup var progress: ProgressOption

  func run() throws {
    let reader = try openBundle(bundle)
    let inspection = try progress.showing(of: reader.knownReadCount) { shown in
      try BundleInspection(reader, progress: shown)
    }
    if json { printText(try prettyJSON(inspection)) } else { Self.lines(inspection).forEach(printLine) }
  }

  private static func lines(_ bundle: BundleInspection) -> [String] {
    var lines = [
      "\(bundle.path): \(formatted(bytes: bundle.fileBytes)), \(storage(of: bundle))",
      "grid       \(bundle.tileMatrixSet) (\(bundle.crs))",
      "tiles      \(bundle.tiles), \(bundle.distinctTiles) distinct, \(formatted(bytes: bundle.blobBytes)) of blobs",
    ]
    if let placement = bundle.placement { lines.append("placement  \(placement)") }
    for kind in bundle.kinds {
      let size = kind.width.flatMap { width in kind.height.map { ", \(width) x \($0) pixels" } } ?? ""
      lines.append("format     \(kind.format?.rawValue ?? "unknown")\(size): \(counted(kind.blobs, "blob"))")
    }
    lines.append("metadata")
    lines += bundle.metadata.map { "  \($0.name): \($0.value.count > 200 ? "\($0.value.prefix(200))..." : $0.value)" }
    lines.append("zoom       tiles       bytes  columns, rows (XYZ)")
    for level in bundle.levels {
      lines.append(
        padded("\(level.zoom)", 4) + padded("\(level.tiles)", 12) + padded(formatted(bytes: level.bytes), 12)
          + "  \(level.minColumn)-\(level.maxColumn), \(level.minRow)-\(level.maxRow)")
    }
    return lines
  }

  /// How the container stores the tiles.
  private static func storage(of bundle: BundleInspection) -> String {
    if let layout = bundle.layout, let page = bundle.pageBytes, let id = bundle.applicationID {
      return "MBTiles, \(words(layout)), pages of \(page) bytes, application id \(id)"
    }
    if let tables = bundle.tables, let page = bundle.pageBytes {
      let others = tables.dropFirst().map { "GPKG:\(bundle.path):\($0)" }
      return "GeoPackage, table \(tables[0]), pages of \(page) bytes"
        + (others.isEmpty ? "" : "; others: \(others.joined(separator: ", "))")
    }
    if let archive = bundle.archive {
      return "PMTiles, \(archive.isClustered ? "clustered" : "not clustered"), \(archive.entries) entries, "
        + (archive.leafDirectories == 1 ? "1 leaf directory" : "\(archive.leafDirectories) leaf directories")
    }
    if bundle.container == .tileset { return "a tileset of shards" }
    return "a folder, rows as in \(bundle.scheme?.uppercased() ?? "XYZ")"
  }

  private static func words(_ layout: BundleLayout) -> String {
    switch layout {
    case .flat: "one table of tiles"
    case .mapAndImages: "tables map and images"
    case .view: "a view of tiles"
    case .numbered: "one table, whose numbers are of another type"
    }
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(width - text.count, 0)) + text
  }
}
