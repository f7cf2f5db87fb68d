// Stands in for Image I/O where that is missing: the declarations that examples/apple uses, for AppleExampleTests.

public import CoreGraphics
public import Foundation

public final class CGImageSource {}
public typealias CFDictionary = NSDictionary
public let kCGImageSourceShouldCacheImmediately = "cache"
// swift-format-ignore
public func CGImageSourceCreateWithData(_ data: CFData, _ options: CFDictionary?) -> CGImageSource? { nil }
// swift-format-ignore
public func CGImageSourceCreateImageAtIndex(_ source: CGImageSource, _ index: Int, _ options: CFDictionary?) -> CGImage?
{ nil }
