import TileIndex

/// Places out of the tables of geonames.org: UTF-8, one place a line, 19 columns with tabs between, as their readme.txt lists them.
enum GeoNamesGazetteer {
  private static let columnCount = 19
  private static let (nameColumn, latitudeColumn, longitudeColumn) = (1, 4, 5)
  private static let (classColumn, codeColumn, populationColumn) = (6, 7, 14)

  static func places(_ bytes: ArraySlice<UInt8>, path: String) throws -> [Place] {
    var places: [Place] = []
    var number = 0
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      // Their header files have comments.
      if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
      places.append(try place(line) { GazetteerError(path: path, place: "line \(number)", $0, remedy: $1) })
    }
    return places
  }

  private static func place(
    _ line: ArraySlice<UInt8>, _ malformed: (String, String) -> GazetteerError
  ) throws -> Place {
    let cells = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
    guard cells.count == columnCount else {
      throw malformed(
        "has \(cells.count) columns instead of \(columnCount)",
        "give GeoJSON, or a table of geonames.org such as US.txt, with tabs between the columns")
    }
    func text(_ column: Int) throws -> String {
      guard let text = String(validating: cells[column], as: UTF8.self) else {
        throw malformed("column \(column + 1) is not UTF-8", "convert the file with iconv")
      }
      return text
    }
    func degrees(_ column: Int, _ name: String, _ limit: Double) throws -> Double {
      let word = try text(column)
      guard let value = Double(word), abs(value) <= limit else {
        throw malformed("the \(name) \"\(word.prefix(20))\" is none", "degrees are wanted in column \(column + 1)")
      }
      return value
    }
    let code = try text(codeColumn)
    let populationText = try text(populationColumn)
    guard let population = populationText.isEmpty ? 0 : Double(populationText), population.isFinite else {
      throw malformed("the population \"\(populationText.prefix(20))\" is no number", "correct column 15")
    }
    let meaning = GeoNamesFeature(class: try text(classColumn), code: code, population: population)
    let place = Place(
      name: try text(nameColumn), kind: meaning.kind, longitude: try degrees(longitudeColumn, "longitude", 180),
      latitude: try degrees(latitudeColumn, "latitude", 90), importance: meaning.importance)
    if let fault = place.fault { throw malformed(fault, "correct the line, or leave it out") }
    return place
  }
}
