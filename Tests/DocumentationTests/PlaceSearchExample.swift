// snippet.begin
import TileIndex

/// Searches the places that lie in a bundle, as they are typed, those near a position first.
func findPlaces(in path: String, typed text: String, longitude: Double, latitude: Double) throws -> [String] {
  let bundle = try BundleFile.open(path)
  // Nil for a bundle without places.
  guard let places = try PlaceIndex(bundle) else { return [] }
  let near = PlaceQuery.Coordinate(longitude: longitude, latitude: latitude)
  return try places.search(PlaceQuery(text, near: near, limit: 5)).map { match in
    "\(match.place.name), \(Int((match.distance ?? 0) / 1000)) km"
  }
}
// snippet.end
