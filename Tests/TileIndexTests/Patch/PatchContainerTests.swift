import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

/// Places in bundles of every container: patches, extracts and merges keep them, or say which they cannot keep.
@Suite(.ownThread) struct PatchContainerTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private static let containers = ["mbtiles", "pmtiles", "gpkg", "folder", "tileset"]
  private static let peak = Place(
    name: "Longs Peak", kind: "peak", longitude: -105.6158, latitude: 40.2549, importance: 0.4)
  private static let town = Place(name: "Zürich", kind: "city", longitude: 8.55, latitude: 47.37, importance: 0.8)
  private static let lake = Place(name: "Ness", longitude: -4.45, latitude: 57.3)

  /// One edition in MBTiles and the same in another container.
  private func editions(
    _ name: String, _ container: String, seed: Int, places: [Place]
  ) throws -> (file: String, other: String) {
    let metadata = BundleMetadata(
      name: "Map", description: "of \(name)", attribution: "© us", version: "\(seed)", extra: ["edition": "\(seed)"])
    let file = try folder.writeBundle(
      "\(name).mbtiles", zooms: 0...3, seed: seed, metadata: metadata, places: places)
    let other: String
    switch container {
    case "mbtiles": other = file
    case "folder": other = folder.file("\(name)/")
    default: other = folder.file("\(name).\(container)")
    }
    if container == "tileset" {
      try shards(of: BundleFile.open(file), other)
    } else if other != file {
      try BundleConvert().write(BundleFile.open(file), to: other)
    }
    return (file, other)
  }

  /// The bundle as four shards and what lies above them.
  private func shards(of bundle: any BundleReader, _ path: String) throws {
    let set = bundle.matrixSet
    let sink = try ShardedWriter(path: path, top: "\(path).top.pmtiles", shardZoom: 1, matrixSet: set, format: .png)
    for root in set.wholeRange(zoom: 1) {
      let name = "\(path).\(root.column)\(root.row).pmtiles"
      let part = try BundleFile.create(name, matrixSet: set, format: .png)
      try bundle.forEachTile { tile, bytes in
        if tile.zoom > 0, set.ancestor(of: tile, zoom: 1) == root { try part.put(tile, bytes) }
      }
      let summary = try part.finish(BundleMetadata(name: "part"))
      try sink.add(BundleFile.open(name), root: root, tiles: summary.tiles)
    }
    let top = TileID(unchecked: 0, 0, 0)
    try sink.put(top, try #require(try bundle.tile(top)))
    try sink.write(places: bundle.places().all())
    _ = try sink.finish(.rows(bundle.metadata.entries))
  }

  /// Old and new editions in any two containers: the result is the new edition, places included.
  @Test(arguments: containers, containers)
  func patchesKeepThePlacesOfEveryContainer(from: String, to: String) throws {
    let old = try editions("old", from, seed: 1, places: [Self.peak, Self.lake])
    let new = try editions("new", to, seed: 2, places: [Self.peak, Self.town])
    let (patch, result) = (folder.file("a.patch"), folder.file("result.mbtiles"))
    _ = try BundlePatch.diff(old: old.other, new: new.other, output: patch)
    // Also onto the same edition in another container.
    for base in Set([old.other, old.file]) {
      try BundlePatch.apply(patch, to: base, output: result, replacing: true)
      let (found, wanted) = (try BundleContents(result), try BundleContents(new.other))
      #expect(found == wanted, "\(base)")
      #expect(found.places == [Self.town, Self.peak])
    }
  }

  /// A patch of two MBTiles goes onto the old edition in any container.
  @Test(arguments: containers) func equalBasesOfEveryContainerArePatched(container: String) throws {
    let old = try editions("old", container, seed: 1, places: [Self.peak, Self.lake])
    let new = try folder.writeBundle("new.mbtiles", zooms: 0...3, seed: 2, places: [Self.town])
    let (patch, result) = (folder.file("a.patch"), folder.file("result.mbtiles"))
    _ = try BundlePatch.diff(old: old.file, new: new, output: patch)
    try BundlePatch.apply(patch, to: old.other, output: result)
    #expect(try BundleContents(result) == BundleContents(new))
    #expect(try BundleFile.open(result).placeTable()?.hasIndex == true)
    // Without its places it is another bundle.
    let bare = try folder.writeBundle(
      "bare.mbtiles", zooms: 0...3, seed: 1,
      metadata: BundleMetadata(BundleFile.open(old.file).metadata, fallbackName: ""))
    let error = #expect(throws: BundleError.self) {
      try BundlePatch.apply(patch, to: bare, output: folder.file("x.mbtiles"))
    }
    #expect(error?.code == .mismatch && error?.message.contains("places") == true)
  }

  /// Another program's list is in another order than ours; a place that cannot be stored stops the patch.
  @Test func placesOfOtherMakersAreTakenOrSaid() throws {
    let old = try editions("old", "folder", seed: 1, places: [Self.peak])
    let new = try editions("new", "folder", seed: 2, places: [Self.peak])
    func write(_ places: [Place]) throws {
      try folder.write("new/places.geojson", bytes: PlaceDocument.json(places).bytes)
    }
    try write([Self.lake, Self.town, Self.peak])
    let (patch, result) = (folder.file("a.patch"), folder.file("result.mbtiles"))
    _ = try BundlePatch.diff(old: old.other, new: new.other, output: patch)
    try BundlePatch.apply(patch, to: old.other, output: result)
    #expect(try BundleFile.open(result).places().valid == [Self.town, Self.peak, Self.lake])
    try write([Self.town, Place(name: "Nowhere", longitude: 900, latitude: 0)])
    let error = #expect(throws: BundleError.self) {
      try BundlePatch.diff(old: old.other, new: new.other, output: patch, replacing: true)
    }
    #expect(error?.path == new.other && error?.message.contains("Nowhere") == true, "\(error?.description ?? "")")
  }

  @Test(arguments: containers) func extractsAndMergesKeepPlaces(container: String) throws {
    let bundle = try BundleFile.open(editions("a", container, seed: 1, places: [Self.peak, Self.town]).other)
    let west = BoundingBox(west: -180, south: -80, east: 0, north: 80)
    try BundleExtract(area: TileArea(bounds: west)).write(bundle, to: folder.file("west.mbtiles"))
    #expect(try BundleFile.open(folder.file("west.mbtiles")).places().all() == [Self.peak])
    let other = try BundleFile.open(
      folder.writeBundle("b.mbtiles", zooms: 0...3, seed: 1, places: [Self.peak, Self.lake]))
    for output in ["merged.pmtiles", "merged.gpkg", "merged/", "merged.mbtiles"] {
      try BundleMerge().write([bundle, other], to: folder.file(output))
      let merged = try BundleFile.open(folder.file(output))
      #expect(try merged.places().all() == [Self.town, Self.peak, Self.lake], "\(output)")
      try BundleConvert().write(bundle, to: folder.file("copy-\(output)"))
      #expect(try BundleFile.open(folder.file("copy-\(output)")).places().all() == [Self.town, Self.peak])
    }
  }
}
