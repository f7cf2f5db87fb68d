import CSQLite
import Support

/// The tables of places are as docs/reference/bundle-format.md specifies.
struct PlacesRule: BundleRule {
  static let rule = VerificationRule(
    "places", .practice, "places to look for have a name, lie on Earth and are indexed")
  private let reader: MBTilesReader

  init(_ reader: MBTilesReader) { self.reader = reader }

  mutating func begin(_ findings: inout Findings) throws {
    // Tables of this name with other columns belong to other software and are not checked.
    guard try reader.placeTable() != nil else { return }
    try reader.reading {
      let rows = try reader.connection.prepare(
        "SELECT id, name, kind, longitude, latitude, importance, typeof(longitude), typeof(latitude) FROM places")
      while try rows.step() {
        let place = Place(
          name: rows.text(1), kind: rows.text(2), longitude: rows.double(3), latitude: rows.double(4),
          importance: rows.double(5))
        let isNumber = rows.optionalText(6) != "text" && rows.optionalText(7) != "text"
        guard let fault = isNumber ? place.fault : "has no longitude and latitude" else { continue }
        findings.error(
          "the place with the id \(rows.int(0)) \(fault)", remedy: "correct its row, or make the bundle again")
      }
    }
    do {
      let search = try reader.connection.prepare("SELECT rowid FROM places_index WHERE places_index MATCH 'a*' LIMIT 1")
      _ = try search.step()
    } catch let error as SQLiteError {
      findings.warning(
        "its places cannot be searched: \(error)", remedy: "write its places again")
    }
  }
}
