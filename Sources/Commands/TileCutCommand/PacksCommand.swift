import ArgumentParser
import CommandSupport
import RegionCatalog
import Support
import TileIndex

/// `tilecut packs`
struct PacksCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "packs", abstract: "Says which packs cover a point, a box or a track.",
    discussion: """
      The answer comes from the catalogue alone. It lists the overview before the details; a region that is not split \
      is listed with its bundle where that covers the place.
      """)

  @Argument(
    help: ArgumentHelp("A catalogue.json, or the folder that it lies in.", valueName: "catalogue"), completion: .file())
  var catalogue: String
  @Option(
    parsing: .unconditional, help: ArgumentHelp("A place: longitude and latitude in degrees.", valueName: "LON,LAT"))
  var point: NumbersArgument?
  @Option(parsing: .unconditional, help: ArgumentHelp("A box in degrees.", valueName: "W,S,E,N"))
  var bounds: BoundsArgument?
  @Option(
    help: ArgumentHelp("A GPX or GeoJSON file with tracks, routes or places.", valueName: "file"), completion: .file())
  var track: String?
  @Option(
    parsing: .upToNextOption, help: ArgumentHelp("Search only these regions, by id; all unless given.", valueName: "id")
  )
  var region: [String] = []
  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard [point != nil, bounds != nil, track != nil].count(where: { $0 }) == 1 else {
      throw ValidationError("ask for one of --point, --bounds and --track")
    }
    if let point, point.values.count != 2 || abs(point.values[0]) > 360 || abs(point.values[1]) > 90 {
      throw ValidationError("--point is longitude,latitude in degrees")
    }
    if let box = bounds?.box, !(box.south <= box.north && abs(box.west) <= 540 && abs(box.east) <= 540) {
      throw ValidationError("--bounds is west,south,east,north in degrees")
    }
  }

  func run() throws {
    let path =
      FileSystem.kind(catalogue) == .folder ? "\(catalogue)/\(Catalog.fileName)" : catalogue
    let catalog = try Catalog(path: path)
    if let unknown = region.first(where: { catalog[$0] == nil }) {
      throw BundleError(
        .notFound, path: path, "has no region \"\(unknown)\"",
        remedy: Spelling.remedy(for: unknown, among: catalog.regions.map(\.id)))
    }
    let ground = try ground()
    let found = catalog.regions.filter { region.isEmpty || region.contains($0.id) }.flatMap {
      $0.files(covering: ground)
    }
    if json { printText(try prettyJSON(found)) } else { Self.lines(found).forEach(printLine) }
  }

  private func ground() throws -> MapGround {
    if let point { return .point(longitude: point.values[0], latitude: point.values[1]) }
    if let bounds { return .box(bounds.box) }
    return .track(try Track(path: track ?? ""))
  }

  private static func lines(_ found: [CoveringFile]) -> [String] {
    guard !found.isEmpty else { return ["nothing in the catalogue covers it"] }
    let lines = found.map { file in
      "\(file.region)  \(file.file)  \(formatted(bytes: file.bytes))  "
        + "zoom \(file.zooms.lowerBound)-\(file.zooms.upperBound)"
        + "\(file.kind == .overview ? "  overview" : file.kind == .whole ? "  whole region" : "")"
    }
    let bytes = found.reduce(0) { $0 + $1.bytes }
    return lines + ["\(counted(found.count, "file")), \(formatted(bytes: bytes))"]
  }
}
