import Foundation
import TestSupport
import TileIndex

/// The ways by which GDAL comes to a tileset.
enum GDALWay: String, CaseIterable, Sendable {
  /// The document of all tilesets, one of its layers.
  case wmtsOfAll
  /// The document of one tileset alone.
  case wmtsOfOne
  /// The documents by key-value pairs; tiles by the paths that they name.
  case wmtsCapabilitiesByQuery
  /// Documents and tiles by key-value pairs.
  case wmtsTilesByQuery
  /// The address of a TileMap.
  case tms
  /// A TileMap in a file.
  case tmsFile
  /// A description of our plain tile URLs for GDAL's WMS driver.
  case xyz

  var isWMTS: Bool { rawValue.hasPrefix("wmts") }
  /// TMS readers take 204 for a missing tile, and 404 for a failure.
  var wants204: Bool { self == .tms || self == .tmsFile }
  /// GDAL takes three bands for granted where a TileMap says nothing of bands.
  var bandCount: Int { wants204 ? 3 : 4 }
}

/// What is handed to GDAL instead of a file's name.
struct GDALSource {
  let server: RunningServer
  let folder: TemporaryFolder
  let id: String
  /// The grid of the tileset, the last zoom that has tiles, and the pixels of a tile.
  let matrixSet: TileMatrixSet
  let zoom: Int
  let edge: Int

  func name(_ way: GDALWay) throws -> String {
    let whole = "\(server.address)/wmts/1.0.0/WMTSCapabilities.xml"
    // Names with other than plain characters are put in quotation marks, as GDAL does in its lists.
    let layer = "layer=\"\(id)\""
    switch way {
    case .wmtsOfAll: return "WMTS:\(whole),\(layer)"
    case .wmtsOfOne: return "WMTS:\(server.address)/wmts/1.0.0/\(segment(id))/WMTSCapabilities.xml"
    case .wmtsCapabilitiesByQuery:
      return "WMTS:\(server.address)/wmts?SERVICE=WMTS&REQUEST=GetCapabilities&VERSION=1.0.0,\(layer)"
    case .wmtsTilesByQuery:
      // GDAL prefers paths where a document names them.
      let document = try server.get("/wmts/1.0.0/WMTSCapabilities.xml")
      let parts = document.components(separatedBy: "<ResourceURL ")
      let without =
        parts[0]
        + parts.dropFirst().map { $0.components(separatedBy: "/>").dropFirst().joined(separator: "/>") }
        .joined()
      return "WMTS:\(try folder.write("capabilities.xml", without)),\(layer)"
    case .tms: return "\(server.address)/tms/1.0.0/\(segment(id))"
    case .tmsFile: return try folder.write("tilemap.xml", server.get("/tms/1.0.0/\(segment(id))"))
    case .xyz: return try folder.write("xyz.xml", xyz)
    }
  }

  private var xyz: String {
    let box = matrixSet.boundingBox
    return """
      <GDAL_WMS>
        <Service name="TMS"><ServerUrl>\(server.address)/\(segment(id))/${z}/${x}/${y}.png</ServerUrl></Service>
        <DataWindow>
          <UpperLeftX>\(box.west)</UpperLeftX><UpperLeftY>\(box.north)</UpperLeftY>
          <LowerRightX>\(box.east)</LowerRightX><LowerRightY>\(box.south)</LowerRightY>
          <TileLevel>\(zoom)</TileLevel>
          <TileCountX>\(matrixSet[0].matrixWidth)</TileCountX><TileCountY>\(matrixSet[0].matrixHeight)</TileCountY>
          <YOrigin>top</YOrigin>
        </DataWindow>
        <Projection>\(matrixSet == .webMercatorQuad ? "EPSG:3857" : "EPSG:4326")</Projection>
        <BlockSizeX>\(edge)</BlockSizeX><BlockSizeY>\(edge)</BlockSizeY>
        <BandsCount>4</BandsCount>
        <ZeroBlockHttpCodes>204,404</ZeroBlockHttpCodes>
      </GDAL_WMS>
      """
  }
}
