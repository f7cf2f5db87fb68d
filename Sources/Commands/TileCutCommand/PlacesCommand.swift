import ArgumentParser
import CommandSupport
import Support
import TileIndex

/// `tilecut places`
struct PlacesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "places", abstract: "Looks for places in a bundle by their names.",
    discussion: """
      A place is found by all words of the query, the last as a beginning; case and accents do not matter. Prints \
      name, kind, longitude, \
      latitude, importance, and the distance where --near is given. Finding nothing is no error.
      """)

  @Argument(
    help: ArgumentHelp("A bundle with places: MBTiles, PMTiles, GeoPackage, or a folder.", valueName: "bundle"),
    completion: .file())
  var bundle: String
  @Argument(help: ArgumentHelp("What to look for.", valueName: "query"))
  var query: String
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Longitude and latitude in degrees; places near there come first.", valueName: "LON,LAT"))
  var near: NumbersArgument?
  @Option(help: ArgumentHelp("The longest list wanted, 1-\(PlaceQuery.limitMax).", valueName: "n"))
  var limit = PlaceQuery.limitDefault
  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    if let near, coordinate(near) == nil { throw ValidationError("--near must be longitude,latitude in degrees") }
    guard (1...PlaceQuery.limitMax).contains(limit) else {
      throw ValidationError("--limit goes from 1 to \(PlaceQuery.limitMax)")
    }
  }

  func run() throws {
    let query = PlaceQuery(self.query, near: near.flatMap(coordinate), limit: limit)
    guard let found = try query.search(openBundle(bundle, readingTiles: false)) else {
      throw BundleError(
        .malformed, path: bundle, "has no places", remedy: "cut it with a list of them: tilecut cut --gazetteer FILE")
    }
    if json {
      printText(try prettyJSON(found.map(Row.init)))
    } else {
      for match in found { print(Self.line(match)) }
    }
  }

  private func coordinate(_ near: NumbersArgument) -> PlaceQuery.Coordinate? {
    guard near.values.count == 2 else { return nil }
    return PlaceQuery.Coordinate(longitude: near.values[0], latitude: near.values[1])
  }

  private static func line(_ match: PlaceMatch) -> String {
    let place = match.place
    let numbers = [place.longitude, place.latitude, place.importance].map(DecimalText.text)
    let distance = match.distance.map { ["\(Int($0.rounded())) m"] } ?? []
    let texts = [place.name, place.kind].map { $0.escapedForTerminal() }
    return (texts + numbers + distance).joined(separator: "\t")
  }

  /// A place as JSON has it.
  private struct Row: Encodable {
    let name: String
    let kind: String
    let longitude: Double
    let latitude: Double
    let importance: Double
    let distanceMetres: Double?

    init(_ match: PlaceMatch) {
      (name, kind) = (match.place.name, match.place.kind)
      (longitude, latitude) = (match.place.longitude, match.place.latitude)
      (importance, distanceMetres) = (match.place.importance, match.distance)
    }
  }
}
