// snippet.begin
import RegionCatalog
import TileIndex

/// Names the files to download for the surroundings of a place: tile packs, overviews first, or whole regions.
func filesToDownload(catalogue path: String, longitude: Double, latitude: Double) throws -> [String] {
  let catalogue = try Catalog(path: path)
  return catalogue.regions.flatMap { region in
    region.files(covering: .point(longitude: longitude, latitude: latitude)).map { file in
      print("\(region.title), edition \(region.edition): \(file.bytes) bytes, zooms \(file.zooms)")
      return file.file
    }
  }
}
// snippet.end
