import TileImage
import TileIndex

/// A tile that is assembled from its children.
struct ParentTile {
  let id: TileID
  /// Children that have not been added yet.
  private(set) var missing: Int
  /// The tile's pixels; nil as long as all children were empty.
  private(set) var pixels: PixelBuffer?
  /// When picking, a small region may lie entirely between the picked pixels. One visible pixel of each child is kept,
  /// to be used if the parent would be empty.
  private(set) var strays: [Stray] = []

  typealias Stray = (x: Int, y: Int, rgba: UInt32)

  /// - Parameters:
  ///   - childCount: how many children are to be added.
  ///   - pixels: what earlier children made of the tile, with their strays.
  init(id: TileID, childCount: Int, pixels: PixelBuffer? = nil, strays: [Stray] = []) {
    self.id = id
    missing = childCount
    self.pixels = pixels
    self.strays = strays
  }

  /// Reduces a child into its part of the parent; nil means a child without a visible pixel.
  mutating func add(_ child: PixelBuffer?, at childID: TileID, reduction: Reduction, pool: BufferPool) {
    missing -= 1
    guard let child else { return }
    let target = pixels ?? pool.take()
    pixels = target
    let part = reduction.reduce(child, at: childID, into: target, of: id)
    if reduction.kind == .pick, let stray = child.firstVisiblePixel() {
      strays.append((part.x + stray.x / part.ratio, part.y + stray.y / part.ratio, stray.rgba))
    }
  }

  /// The finished pixels, nil if no child had any.
  mutating func finish() -> PixelBuffer? {
    if let pixels, !strays.isEmpty, pixels.opacity == .transparent {
      for stray in strays {
        pixels.bytes.storeBytes(of: stray.rgba, toByteOffset: (stray.y * pixels.width + stray.x) * 4, as: UInt32.self)
      }
    }
    return pixels
  }
}

/// How children are reduced to their parent.
struct Reduction: Sendable {
  enum Kind: Sendable {
    /// The mean of a block of the children's pixels, in sRGB values.
    case average
    /// The mean in linear light.
    case linearAverage
    /// One pixel of a block.
    case pick
    /// The most frequent pixel of a block.
    case mode
  }

  let matrixSet: TileMatrixSet
  let kind: Kind
  /// The plan's zoom from which all coarser ones are reduced.
  let baseZoom: Int

  /// Reduces a child into its part of a parent.
  ///
  /// - Returns: the part's top left corner in the parent, and how many of the child's pixels make one of the parent's.
  @discardableResult
  func reduce(
    _ child: PixelBuffer, at childID: TileID, into parent: PixelBuffer, of id: TileID
  ) -> (x: Int, y: Int, ratio: Int) {
    let ratio = matrixSet.ratio(below: id.zoom)
    let x = (childID.column - id.column * ratio) * parent.width / ratio
    let y = (childID.row - id.row * ratio) * parent.height / ratio
    switch kind {
    case .pick: Reduce.pick(child, ratio: ratio, into: parent, x: x, y: y, phase: phase(parentZoom: id.zoom))
    case .mode: Reduce.mode(child, ratio: ratio, into: parent, x: x, y: y, phase: phase(parentZoom: id.zoom))
    case .average: Reduce.average(child, ratio: ratio, into: parent, x: x, y: y)
    case .linearAverage: Reduce.averageLinear(child, ratio: ratio, into: parent, x: x, y: y)
    }
    return (x, y, ratio)
  }

  /// Which pixel of a block is picked. The four pixels of a 2 x 2 block are equally near to the parent pixel's centre.
  /// Alternating between the lower right and the upper left keeps the picked pixel within half a source pixel of a
  /// direct pick; always taking the same one would shift the image.
  func phase(parentZoom: Int) -> Int { (baseZoom - parentZoom) & 1 }
}

extension PixelBuffer {
  /// The first pixel that is not transparent, in reading order.
  fileprivate func firstVisiblePixel() -> (x: Int, y: Int, rgba: UInt32)? {
    for i in 0..<(width * height) where bytes.load(fromByteOffset: i * 4 + 3, as: UInt8.self) != 0 {
      return (i % width, i / width, bytes.load(fromByteOffset: i * 4, as: UInt32.self))
    }
    return nil
  }
}

/// A worker's pixel buffers of one size, reused to avoid allocations.
final class BufferPool {
  private let width: Int
  private let height: Int
  private var spare: [PixelBuffer] = []
  private var untouched: PixelBuffer?
  /// A limit, since buffers also come from other workers as the roots of finished subtrees.
  private let spareCountMax = 8

  init(_ matrix: TileMatrix) {
    (width, height) = (matrix.tileWidth, matrix.tileHeight)
  }

  /// A transparent buffer.
  func take() -> PixelBuffer {
    if let buffer = untouched {
      untouched = nil
      return buffer
    }
    guard let buffer = spare.popLast() else { return PixelBuffer(width: width, height: height) }
    buffer.clear()
    return buffer
  }

  /// Takes back a buffer that is still transparent, and need not be cleared.
  func give(untouched buffer: PixelBuffer) { untouched = buffer }

  func give(_ buffer: PixelBuffer) {
    if spare.count < spareCountMax { spare.append(buffer) }
  }
}
