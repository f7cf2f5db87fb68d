import Foundation
import TestSupport
import Testing
import TileIndex

/// Names are found by plain letters, alike in all containers.
@Suite(.ownThread) struct PlaceFoldingTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let names = [
    "Łódź", "Zürich", "Øresund", "Đakovo", "Ħamrun", "Lange Straße", "Ærøskøbing", "Œuf", "Þingvellir", "東京都庁",
    "Άθήνα", "Орёл", "İstanbul", "とうきょう駅",
    "O’Hare International", "Hawaiʻi", "ガンマ", "Ludwig Ⅱ", "ＮＨＫ放送センター",
  ]

  @Test(arguments: [
    ("lodz", "Łódź"), ("łódź", "Łódź"), ("LODZ", "Łódź"), ("zurich", "Zürich"), ("oresund", "Øresund"),
    ("dakovo", "Đakovo"), ("hamrun", "Ħamrun"), ("strasse", "Lange Straße"), ("lange straße", "Lange Straße"),
    ("aero", "Ærøskøbing"), ("oeuf", "Œuf"), ("thing", "Þingvellir"), ("都庁", "東京都庁"), ("東京", "東京都庁"),
    ("αθηνα", "Άθήνα"), ("орел", "Орёл"), ("istanbul", "İstanbul"), ("駅", "とうきょう駅"),
    ("ohare", "O’Hare International"), ("o'hare", "O’Hare International"), ("hare", "O’Hare International"),
    ("hawaii", "Hawaiʻi"), ("Hawaiʻi", "Hawaiʻi"), ("ｶﾞﾝﾏ", "ガンマ"), ("カ\u{3099}ンマ", "ガンマ"),
    ("ludwig ii", "Ludwig Ⅱ"), ("nhk", "ＮＨＫ放送センター"), ("ＬＵＤＷＩＧ", "Ludwig Ⅱ"), ("ｾﾝﾀｰ", "ＮＨＫ放送センター"),
  ])
  func everyContainerFinds(_ text: String, _ name: String) throws {
    let places = Self.names.map { Place(name: $0, longitude: 0, latitude: 0) }
    let path = try folder.writeBundle("a.mbtiles", zooms: 0...0, places: places)
    var bundles = [try BundleFile.open(path)]
    for other in ["a.pmtiles", "a.gpkg", "a/"] {
      try BundleConvert().write(bundles[0], to: folder.file(other))
      bundles.append(try BundleFile.open(folder.file(other)))
    }
    for bundle in bundles {
      #expect(try PlaceQuery(text).search(bundle)?.map(\.place.name) == [name], "\(bundle.path)")
    }
  }

  /// A name that is the query but for an apostrophe ranks as one that is the query.
  @Test func apostrophesDoNotLowerTheRank() {
    let places = ["Ohare Street", "O'Hare"].map { Place(name: $0, longitude: 0, latitude: 0) }
    #expect(PlaceList(places).search(PlaceQuery("ohare")).map(\.place.name) == ["O'Hare", "Ohare Street"])
  }

  /// All of them, beside NFKC by Unicode's own tables.
  @Test func kanaOfHalfWidthAreThoseOfNFKC() {
    let kana = (0xff66...0xff9f as ClosedRange<UInt32>).compactMap { Unicode.Scalar($0) }
    for first in kana where first.value < 0xff9e {
      for mark in ["", "\u{ff9e}", "\u{ff9f}"] {
        let text = "\(first)\(mark)"
        let normal = text.precomposedStringWithCompatibilityMapping
        guard normal.unicodeScalars.count == 1 else { continue }
        // Vu, va and their kind have no letter in the tables of names.
        #expect(PlaceWords.joined(text) == PlaceWords.joined(normal), "\(text)")
      }
    }
  }

  /// Not characters of a name in another order.
  @Test func charactersAreAPhrase() throws {
    let place = Place(name: "東京都庁", longitude: 0, latitude: 0)
    let path = try folder.writeBundle("a.mbtiles", zooms: 0...0, places: [place])
    #expect(try PlaceQuery("庁都").search(BundleFile.open(path)) == [])
    #expect(PlaceList([place]).search(PlaceQuery("庁都")) == [])
  }

  @Test func nearMayLieATurnAway() throws {
    let fiji = Place(name: "Suva", longitude: -179.9, latitude: -18, importance: 0)
    let others = (0..<400).map { Place(name: "Suva \($0)", longitude: 0, latitude: 0, importance: 1) }
    let path = try folder.writeBundle("a.mbtiles", zooms: 0...0, places: others + [fiji])
    for longitude in [179.9, 180.1, -179.9] {
      let near = try #require(PlaceQuery.Coordinate(longitude: longitude, latitude: -18))
      #expect(try PlaceQuery("suva", near: near).search(BundleFile.open(path))?.first?.place == fiji)
    }
  }
}
