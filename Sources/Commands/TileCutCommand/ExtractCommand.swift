import ArgumentParser
import TileCut
import TileIndex

/// `tilecut extract`
struct ExtractCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "extract", abstract: "Takes an area or some zooms out of a bundle, tiles as they are stored.",
    discussion:
      """
      A tile that touches the area is taken whole. Without area and zooms all of the bundle is copied; convert \
      keeps its metadata as they are.
      """
  )

  @Argument(
    help: ArgumentHelp("A bundle: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"), completion: .file()
  )
  var bundle: String
  @Option(
    name: [.short, .long], help: "The bundle to write: .mbtiles, .pmtiles, .gpkg, or a folder with a slash at its end.",
    completion: .file())
  var output: String
  @Option(parsing: .unconditional, help: ArgumentHelp("A box in degrees.", valueName: "W,S,E,N"))
  var bounds: BoundsArgument?
  @Option(help: ArgumentHelp("GeoJSON with the polygons that make the area.", valueName: "file"), completion: .file())
  var polygon: String?
  @Option(help: ArgumentHelp("Zoom levels, one or several.", valueName: "N|MIN-MAX"))
  var zoom: ZoomArgument?
  @OptionGroup var options: BundleOutputOptions

  func validate() throws {
    try options.validate(output)
    if let bounds, !bounds.isArea {
      throw ValidationError("--bounds must be west,south,east,north in degrees, with south below north")
    }
  }

  func run() throws {
    try options.check(output, inputs: [bundle, polygon].compactMap { $0 })
    let area =
      try polygon.map { try TileArea(bounds: bounds?.box, polygonFile: $0) } ?? bounds.map { TileArea(bounds: $0.box) }
      ?? .everywhere
    var extract = BundleExtract(area: area, zooms: zoom?.range)
    extract.scheme = options.rows
    extract.hashes = options.tileHashes
    let reader = try openBundle(bundle)
    try options.write(output, of: try? extract.tilesToRead(of: reader)) { [extract] in
      try extract.write(reader, to: output, replacing: options.file.force, progress: $0)
    }
  }
}
