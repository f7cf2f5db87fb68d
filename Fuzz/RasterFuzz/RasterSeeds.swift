import Foundation
import TileImage

/// Small files to begin with.
enum RasterSeeds {
  /// Colours that change along both axes, with an alpha band.
  static var pixels: PixelBuffer {
    let pixels = PixelBuffer(width: 20, height: 16)
    for i in 0..<320 {
      let word = UInt32(i % 256) | UInt32(i * 7 % 256) << 8 | 0x0033_0000 | (i % 20 < 4 ? 0x8000_0000 : 0xff00_0000)
      pixels.bytes.storeBytes(of: word, toByteOffset: i * 4, as: UInt32.self)
    }
    return pixels
  }

  static func images(_ encodings: [TileEncoding]) -> [[UInt8]] {
    encodings.compactMap { try? TileEncoder($0).encode(pixels) }
  }

  /// Uncompressed TIFFs of 20 x 16 pixels that differ in samples, bits, photometric interpretation and planes.
  static var tiffs: [[UInt8]] {
    let kinds: [(samples: Int, bits: Int, photometric: Int, planar: Int)] = [
      (1, 8, 1, 1), (3, 8, 2, 1), (4, 8, 2, 2), (1, 16, 1, 1), (3, 12, 2, 1), (1, 4, 3, 1), (4, 8, 5, 1), (3, 8, 6, 1),
      (3, 8, 8, 1),
    ]
    return kinds.map { kind in
      let rowBytes = 20 * kind.samples * kind.bits / 8
      var tags: [(Int, [Int])] = [
        (256, [20]), (257, [16]), (258, [Int](repeating: kind.bits, count: kind.samples)), (259, [1]),
        (262, [kind.photometric]), (277, [kind.samples]), (278, [16]), (284, [kind.planar]),
      ]
      if kind.samples > 3 { tags.append((338, [2])) }
      if kind.photometric == 3 { tags.append((320, [Int](repeating: 257, count: 3 << kind.bits))) }
      return tiff(tags, blocks: kind.planar == 2 ? kind.samples : 1, bytes: rowBytes * 16)
    }
  }

  /// Overviews of the first of ``tiffs``: 10 x 8 grey pixels, as an image and as a mask.
  static var reducedTIFFs: [[UInt8]] {
    [(1, 1), (4, 5)].map { photometric, subfile in
      tiff(
        [
          (254, [subfile]), (256, [10]), (257, [8]), (258, [8]), (259, [1]), (262, [photometric]), (277, [1]),
          (278, [8]), (284, [1]),
        ], blocks: 1, bytes: 80)
    }
  }

  /// A TIFF with GeoTIFF tags.
  ///
  /// - Parameter place: the values of ModelPixelScale (3), ModelTiepoint (6) and ModelTransformation (16).
  static func geoTIFF(keys: [Int], doubles: [Double], text: [UInt8], place: [Double]) -> [UInt8] {
    let tags: [(Int, [Int])] = [
      (256, [20]), (257, [16]), (258, [8]), (259, [1]), (262, [1]), (277, [1]), (278, [16]), (284, [1]), (34735, keys),
    ]
    let wide: [(Int, [Double])] = [
      (33550, Array(place.prefix(3))), (33922, Array(place.dropFirst(3).prefix(6))),
      (34264, Array(place.dropFirst(9))), (34736, doubles),
    ]
    return tiff(tags, blocks: 1, bytes: 320, doubles: wide.filter { !$0.1.isEmpty }, text: text)
  }

  private static func tiff(
    _ tags: [(Int, [Int])], blocks: Int, bytes: Int, doubles: [(Int, [Double])] = [], text: [UInt8] = []
  ) -> [UInt8] {
    func number(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    var file: [UInt8] = Array("II".utf8) + [42, 0, 0, 0, 0, 0]
    let start = file.count
    file += (0..<bytes).map { UInt8($0 * 3 & 255) }
    var entries: [(tag: Int, type: Int, count: Int, bytes: [UInt8])] = tags.map { tag, values in
      (tag, 3, values.count, values.flatMap { number($0, 2) })
    }
    let size = bytes / blocks
    entries.append((273, 4, blocks, (0..<blocks).flatMap { number(start + $0 * size, 4) }))
    entries.append((279, 4, blocks, (0..<blocks).flatMap { _ in number(size, 4) }))
    entries += doubles.map { tag, values in (tag, 12, values.count, values.flatMap { $0.littleEndianBytes }) }
    if !text.isEmpty { entries.append((34737, 2, text.count + 1, text + [0])) }
    var directory: [UInt8] = number(entries.count, 2)
    for entry in entries.sorted(by: { $0.tag < $1.tag }) {
      directory += number(entry.tag, 2) + number(entry.type, 2) + number(entry.count, 4)
      if entry.bytes.count <= 4 {
        directory += entry.bytes + [UInt8](repeating: 0, count: 4 - entry.bytes.count)
      } else {
        if file.count % 2 == 1 { file.append(0) }
        directory += number(file.count, 4)
        file += entry.bytes
      }
    }
    if file.count % 2 == 1 { file.append(0) }
    file.replaceSubrange(4..<8, with: number(file.count, 4))
    return file + directory + number(0, 4)
  }

  static let vrts = [
    """
    <VRTDataset rasterXSize="30" rasterYSize="20"><SRS>EPSG:4326</SRS>
    <GeoTransform>1.0e+01, 1.0e-01, 0, 5.0e+01, 0, -1.0e-01</GeoTransform>
    <VRTRasterBand dataType="Byte" band="1"><NoDataValue>0</NoDataValue><ColorInterp>Gray</ColorInterp>
    <SimpleSource><SourceFilename relativeToVRT="1">part.tif</SourceFilename><SourceBand>1</SourceBand>
    <SrcRect xOff="0" yOff="0" xSize="20" ySize="16"/><DstRect xOff="3" yOff="-2" xSize="25" ySize="16"/></SimpleSource>
    <ComplexSource><SourceFilename relativeToVRT="1">part.tif</SourceFilename><SourceBand>1</SourceBand>
    <SrcRect xOff="1" yOff="1" xSize="9" ySize="9"/><DstRect xOff="10" yOff="9" xSize="9" ySize="9"/>
    <NODATA>9</NODATA></ComplexSource></VRTRasterBand></VRTDataset>
    """
  ].map { Array($0.utf8) }

  static let auxiliary = [
    """
    <PAMDataset><SRS>EPSG:4326</SRS><GeoTransform>10, 0.1, 0, 50, 0, -0.1</GeoTransform>
    <GCPList Projection="EPSG:4326"><GCP Id="1" Pixel="0" Line="0" X="10" Y="50"/></GCPList>
    <PAMRasterBand band="1"><NoDataValue>0</NoDataValue>
    <Metadata><MDI key="STATISTICS_MINIMUM">1</MDI></Metadata></PAMRasterBand></PAMDataset>
    """
  ].map { Array($0.utf8) }

  static let geoJSON = [
    """
    {"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "a", "x": [1, null]},
    "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 0]], [[3, 1], [4, 1], [4, 2],
    [3, 1]]]}},
    {"type": "Feature", "properties": null, "geometry": {"type": "GeometryCollection", "geometries": [{"type":
    "MultiLineString", "coordinates": [[[1, 2, 3], [4, 5e0]]]}, {"type": "Point", "coordinates": [-1.5, 80]}]}}]}
    """
  ].map { Array($0.utf8) }

  static let gpx = [
    """
    <?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><wpt lat="47" lon="8.5"><name>a&amp;b</name>
    </wpt>
    <trk><name><![CDATA[c]]></name><trkseg><trkpt lat="47" lon="8"><ele>1</ele></trkpt><trkpt lat="47.1" lon="8.1"/>
    </trkseg></trk><rte><rtept lat="1" lon="2"/></rte></gpx>
    """
  ].map { Array($0.utf8) }

  /// An image in tiles, with a GeoJP2 box.
  static let jpeg2000 = [UInt8](
    Data(
      base64Encoded: """
        AAAADGpQICANCocKAAAAFGZ0eXBqcDIgAAAAAGpwMiAAAAAtanAyaAAAABZpaGRyAAAAKAAAACQAAwcHAAAAAAAPY29scgEAAAAAABAAAAF8dX\
        VpZLFL+L0IPUtDpa6M19WmzgNJSSoACgAAAAAADwAAAQMAAQAAAAEAAAABAQMAAQAAAAEAAAACAQMAAQAAAAgAAAADAQMAAQAAAAEAAAAGAQMA\
        AQAAAAEAAAARAQQAAQAAAAgAAAAVAQMAAQAAAAEAAAAWAQMAAQAAAAEAAAAXAQQAAQAAAAEAAAAcAQMAAQAAAAEAAAAOgwwAAwAAABwBAACChA\
        wABgAAADQBAACvhwMAIAAAAMQAAACwhwwAAgAAAAQBAACxhwIACAAAABQBAAAAAAAAAQABAAAABwAABAAAAQACAAEEAAABAAEAAAgAAAEA5hAB\
        CLGHBwAAAAYIAAABAI4jCQiwhwEAAQALCLCHAQAAAIhtdJYdpHJAAAAAQKZUWEFXR1MgODR8ABzHcRzHcaw/mpmZmZmZqT8AAAAAAAAAAAAAAA\
        AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACRAAAAAAAAASUAAAAAAAAAAAAAABERqcDJj/0//UQAvAAIAAAAkAAAAKAAAAAAAAAAAAAAAIAAA\
        ACAAAAAAAAAAAAADBwEBBwEBBwEB/1IADgEAAAEBAQQEAAGYmf9cAAdAQEhIUP9kAD0AAUNyZWF0ZWQgYnkgT3BlbkpQRUcgdmVyc2lvbiAyLj\
        UuMC4gTE9TU0xFU1Mgc2V0dGluZ3MgdXNlZP+QAAoAAAAAAhoAAf+Tz7a2EVBUry9kQGRnkuOPCBWTBC94KLSXoRA94J/efe1JieZnacsAOqLy\
        kaykOXOElL3yCkfFbQDTMcThEmZiJ4KuXFiLUklWUA0zHE4RJmYieCrmlXmqcJ8gJAih5uGzT5ASBFDzcNmnyAkCKHm4bNPkBIErfIfHYKdCSK\
        EkUJIoSRQkihJFCSKEkUJIoSRQkihJFCSJxuW2mJtMTaYm0xNpibTE2mJtMTaYm0xNpibTE2mJtMTaYn/PtdwTzf6b+KYTayGzkGlistL6Gnh+\
        t6jbbbj5diL33m3etSk5znO6gnKqqqqqqoKqSSSSSRb1rTj8szMzMzMzMzMzMzMzMzMz6UqB3TOiTIgMGb44AAAAAAAAAAAAAAAAAAAAAAAAAA\
        AAAJftD12jYCKq5r77KnHvyc+2mUtcZvNAnkux3RfKrv92W+VskdKc9zSfJBnNGDRrFfgs1Q3P/WwSCNwCTP1eMWzaADF0mrEfwMp+u3ibuaKe\
        2yO2fwxAQ2x7+fSYUa37gbiYIe3KMXDZTcc1F6lmKJPuxyNbjXSQuGyxnr5gAXyRu6vZ1VVVVNRClO6uqqqqpoWp7qzqqqqqYMddPqGP+0oH3O\
        /yyazMzMyXR8AVEA6fACpAF9WOoFjXzH+evND2bnavJPhku1mGQdcX1oiCxE1ksz+gHRCdlqkcwDokA6IAX6fHMZ2WqRz/kAAKAAEAAACAAAH/\
        k8+0bBFQKoog+iesTt4LnEvUMTodLWL7kTiKu+QAAc+0YBPOASPyNisMw1CQtOjOhZBIvEADw75zf8+0bBP/cu8GTXPmys8xQ1b97gb7XcFup1\
        LRRf3Xv8ARQDogF9s4xAxPoB0INB3AOhwDoQAX2+00Hf+QAAoAAgAAAM8AAf+Tx9RYEVBUhQB7te8FEbIYKkkqygGke0iBEiSnqAkCLQMCnQki\
        hJE43LbTE2mJtMTH1EoA1ORM3pR0mV34X9fkkob25t3rUpOc5znTPYHqNttt7bf/f/9/z7TEEVBQUd7285UAOk8pM753ShCIHIIoGBzqpIyuzF\
        w2WgI1Ppq5XVVVVVVR4nVhtttsl8ATwDpsAJwX1Y6gWNe/GcJwJMQV63ilLd70vxfWiILETV+gHRAA1ON/wDocA6IAX6R/ANTjf/+QAAoAAwAA\
        AEYAAf+Tx9QQENw3frtjLX/H1A4Amd3vny9Pw+cOASXGOWpRf8ARQDoYF88Z/oWgHQgAv8A6FAOhABfVAL//2Q==
        """)!)
}

extension Double {
  var littleEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: bitPattern >> (8 * UInt64($0))) } }
}
