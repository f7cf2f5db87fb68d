import Logging
import MapStoreWire
import RegionCatalog
import Support
import Synchronization
import TileIndex

/// A full-text index of the places of all bundles in the catalogue, so that a search is one query instead of one for
/// each bundle. It is a temporary database, which SQLite deletes when it is closed.
final class PlaceDirectory: Sendable {
  /// How many places of each bundle are indexed: the most important ones.
  private static let placesMax = 10_000
  /// How many hits of a query are read, the most important first.
  private static let hitsMax = 2_000
  /// How many words the full-text query has; the rest are compared with its hits.
  private static let askedMax = 6
  /// How many places are returned for each region.
  private static let namedMax = 3

  /// Nil if no bundle has places.
  private let index: Mutex<SQLiteConnection?>

  /// - Complexity: reads the places of every bundle, about 5 us a place.
  init(_ regions: [Catalog.Region], folder: String, logger: Logger) {
    index = Mutex(Self.index(regions, folder: folder, logger: logger))
  }

  private static func index(
    _ regions: [Catalog.Region], folder: String, logger: Logger
  ) -> sending SQLiteConnection? {
    do {
      return try makeIndex(regions, folder: folder, logger: logger)
    } catch {
      logger.error("places cannot be searched: \(error)")
      return nil
    }
  }

  private static func makeIndex(
    _ regions: [Catalog.Region], folder: String, logger: Logger
  ) throws -> sending SQLiteConnection? {
    var entries: [(region: Int, place: Place)] = []
    for (number, region) in regions.enumerated() where region.file.hasSuffix(".mbtiles") {
      do {
        let places = try MBTilesReader(path: "\(folder)/\(region.file)").places().valid
        entries += places.prefix(placesMax).map { (number, $0) }
      } catch {
        // CatalogFileVerifier reports files that are missing or damaged.
        logger.debug("\(region.file): its places cannot be read: \(error)")
      }
    }
    guard !entries.isEmpty else { return nil }
    // Queries return rows in this order: by importance.
    entries.sort { Place.precedes($0.place, $1.place) }
    let connection = try SQLiteConnection(creating: "")
    try connection.execute(
      """
      CREATE VIRTUAL TABLE place USING fts5(words, name UNINDEXED, kind UNINDEXED, region UNINDEXED, longitude UNINDEXED,
        latitude UNINDEXED, prefix='1 2 3', tokenize='unicode61 remove_diacritics 2')
      """)
    let insert = try connection.prepare(
      "INSERT INTO place (name, kind, region, longitude, latitude, words) VALUES (?, ?, ?, ?, ?, ?)")
    try connection.transaction(.immediate) {
      for (region, place) in entries {
        insert.bind(1, place.name)
        insert.bind(2, place.kind)
        insert.bind(3, region)
        insert.bind(4, place.longitude)
        insert.bind(5, place.latitude)
        // As bundles have them, so that the store finds what the maps in it find.
        insert.bind(6, PlaceWords.indexed(place.name))
        try insert.run()
      }
    }
    try connection.execute("INSERT INTO place (place) VALUES ('optimize')")
    return connection
  }

  /// A region's places for a query.
  struct Found: Sendable {
    /// First those whose names begin with one of the words, then by importance.
    var places: [FoundPlace]
    /// The rank of the first place; smaller is better.
    var rank: Int
  }

  /// The regions with places whose names contain all of the words, in any order, each as the prefix of a word.
  ///
  /// - Complexity: a few milliseconds at most.
  func regions(having words: [String]) -> [Int: Found] {
    // A single letter matches a large part of all names: it counts only as the last word, while it is being typed.
    let asked = words.indices.filter { words[$0].count > 1 || $0 == words.count - 1 }.prefix(Self.askedMax)
    guard !asked.isEmpty else { return [:] }
    let others = words.indices.filter { !asked.contains($0) }
    return index.withLock { index in
      // A query that fails finds nothing. Words are quoted, so that none is taken for FTS5's query syntax.
      guard let connection = index,
        let look = try? connection.prepare(
          "SELECT region, name, kind, longitude, latitude, rowid FROM place WHERE place MATCH ? ORDER BY rowid LIMIT ?"
        )
      else { return [:] }
      look.bind(1, asked.map { "\"\(words[$0])\"*" }.joined(separator: " "))
      look.bind(2, Self.hitsMax)
      var found: [Int: [(rank: Int, place: FoundPlace)]] = [:]
      while (try? look.step()) == true {
        let name = look.text(1)
        let plain = PlaceWords.indexed(name)
        if !others.isEmpty {
          let names = PlaceQuery.words(of: plain)
          guard others.allSatisfy({ other in names.contains { $0.hasPrefix(words[other]) } }) else { continue }
        }
        // Row ids are in the order of importance.
        let rank = look.int(5) + (words.contains { plain.hasPrefix($0) } ? 0 : Self.rankWithin)
        let place = FoundPlace(
          name: name, kind: look.text(2), longitude: look.double(3), latitude: look.double(4))
        found[look.int(0), default: []].append((rank, place))
      }
      return found.mapValues { hits in
        let best = hits.sorted { $0.rank < $1.rank }.prefix(Self.namedMax)
        return Found(places: best.map(\.place), rank: best.first?.rank ?? 0)
      }
    }
  }

  /// The most important places of a region.
  ///
  /// - Complexity: reads the rows of all bundles, about a microsecond each.
  func places(of region: Int, limit: Int) -> [FoundPlace] {
    index.withLock { index in
      guard let connection = index,
        let look = try? connection.prepare(
          "SELECT name, kind, longitude, latitude FROM place WHERE region = ? ORDER BY rowid LIMIT ?")
      else { return [] }
      look.bind(1, region)
      look.bind(2, limit)
      var found: [FoundPlace] = []
      while (try? look.step()) == true {
        found.append(
          FoundPlace(name: look.text(0), kind: look.text(1), longitude: look.double(2), latitude: look.double(3)))
      }
      return found
    }
  }

  /// Ranks matches within a name behind all matches at its beginning.
  private static let rankWithin = 1 << 40
}
